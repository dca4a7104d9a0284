-- Reads a tenant's policy, and what stands against making summaries for it.
--
-- KEYS[1]  string, the policy as JSON
-- KEYS[2]  string, the reason of the block; lives as long as it stands
-- Reply    {policy or nil, reason or nil, milliseconds that the block stands}
local left = redis.call('PTTL', KEYS[2])
return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]), left > 0 and left or 0}

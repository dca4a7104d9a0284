-- Counts an event of a session, unless the session has no state.
--
-- KEYS[1]  the session's state
-- KEYS[2]  hash, event -> how often
-- ARGV[1]  event
-- ARGV[2]  lifetime
-- ARGV[3]  how many different events are kept apart; a further one counts as `other`
-- Reply    how often it has happened; 0: no state
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end

local event = ARGV[1]
if redis.call('HEXISTS', KEYS[2], event) == 0 and redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[3]) then
  event = 'other'
end
local times = redis.call('HINCRBY', KEYS[2], event, 1)
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return times

-- uses: fleet
-- Counts what the index holds.
--
-- KEYS   as in lib/fleet.lua
-- Reply  ready jobs, running attempts, age of the oldest ready job, tenants with ready jobs, dead
--        letters
local oldest = redis.call('ZRANGE', SINCE, 0, 0, 'WITHSCORES')[2]
return {
  redis.call('ZCARD', READY), redis.call('ZCARD', RUNNING), oldest and now_ms() - tonumber(oldest) or 0,
  redis.call('ZCARD', ACTIVE), redis.call('ZCARD', DEAD),
}

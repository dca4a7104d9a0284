-- Counts an event of a session.
--
-- KEYS[1]  hash, event -> how often
-- ARGV[1]  event
-- ARGV[2]  lifetime
-- ARGV[3]  how many different events are kept apart; a further one counts as `other`
-- Reply    how often it has happened
local event = ARGV[1]
if redis.call('HEXISTS', KEYS[1], event) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  event = 'other'
end
local times = redis.call('HINCRBY', KEYS[1], event, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return times

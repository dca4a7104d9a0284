-- Lists a degraded turn of a session for review.
--
-- KEYS[1]  list, newest first: `milliseconds since the epoch, entry`
-- ARGV[1]  entry
-- ARGV[2]  entries kept
-- ARGV[3]  lifetime
-- Reply    how many entries there are
redis.call('LPUSH', KEYS[1], string.format('%.0f %s', now_ms(), ARGV[1]))
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('LLEN', KEYS[1])

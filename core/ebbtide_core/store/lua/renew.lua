-- uses: fleet
-- Renews the running lease of an attempt.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  attempt `member incarnation generation epoch attempt`
-- ARGV[2]  lease
-- Reply    1, or 0: it is not running any more
if not redis.call('ZSCORE', RUNNING, ARGV[1]) then return 0 end
redis.call('ZADD', RUNNING, now_ms() + tonumber(ARGV[2]), ARGV[1])
touch()
return 1

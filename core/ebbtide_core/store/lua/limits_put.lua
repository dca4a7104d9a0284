-- Stores what a tenant may have. It never runs out: it is a declaration, not a state.
--
-- KEYS[1]  LIMITS of lib/fleet.lua
-- ARGV[1]  the tenant, or `*` for those that have no entry
-- ARGV[2]  `mode concurrency weight max_pending tokens micros`
-- Reply    1, or 0: there was an entry, which is replaced
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])

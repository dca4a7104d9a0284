-- Removes what a tenant may have: the entry for tenants without one holds from then on.
--
-- KEYS[1]  LIMITS of lib/fleet.lua
-- ARGV[1]  the tenant, or `*`
-- Reply    1, or 0: there was no entry
return redis.call('HDEL', KEYS[1], ARGV[1])

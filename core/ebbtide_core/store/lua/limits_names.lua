-- Lists who has limits of their own.
--
-- KEYS[1]  LIMITS of lib/fleet.lua
-- Reply    tenants, and `*` if there is an entry for those that have none
return redis.call('HKEYS', KEYS[1])

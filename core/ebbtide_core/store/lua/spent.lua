-- uses: fleet, limits
-- Tells what was paid for a tenant today.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  the tenant
-- Reply    tokens, millionths of a dollar
return {spent_today(ARGV[1], now_ms())}

-- uses: fleet, limits
-- Renews the running lease of an attempt, and counts what was paid for it, also when it runs no more.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  attempt `member incarnation generation epoch attempt`
-- ARGV[2]  lease
-- ARGV[3]  tokens paid since last told
-- ARGV[4]  millionths of a dollar paid since last told
-- Reply    renewed | lost: it is not running any more | over_budget: renewed, its tenant used up its day
local attempt, now = ARGV[1], now_ms()
local tenant = tenant_of(attempt)
local paid = pay(tenant, now, tonumber(ARGV[3]), tonumber(ARGV[4]))
local running = redis.call('ZSCORE', RUNNING, attempt)
if running then redis.call('ZADD', RUNNING, now + tonumber(ARGV[2]), attempt) end
if paid or running then touch() end
if not running then return 'lost' end
return used_up(tenant, limits_of(tenant), now) and 'over_budget' or 'renewed'

-- uses: fleet, limits
-- Takes an attempt off the running ones, however it ended, and counts what was paid for it, also when it runs
-- no more.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  attempt `member incarnation generation epoch attempt`
-- ARGV[2]  tokens paid since last told
-- ARGV[3]  millionths of a dollar paid since last told
-- Reply    1, or 0: it was not running any more
local paid = pay(tenant_of(ARGV[1]), now_ms(), tonumber(ARGV[2]), tonumber(ARGV[3]))
local ended = finish(ARGV[1])
if paid or ended then touch() end
return ended and 1 or 0

-- uses: fleet
-- Takes an attempt off the running ones, however it ended.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  attempt `member incarnation generation epoch attempt`
-- Reply    1, or 0: it was not running any more
if not finish(ARGV[1]) then return 0 end
touch()
return 1

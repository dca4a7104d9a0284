-- uses: fleet
-- Takes a session's ready job out of the index, if it is of the claim that was ended or of an earlier one.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  member
-- ARGV[2]  incarnation, percent-encoded
-- ARGV[3]  generation
-- ARGV[4]  epoch
-- Reply    1, or 0: no such job is ready
local job, place = ready_job(ARGV[1])
if not job or job.incarnation ~= ARGV[2] then return 0 end
if compare(job, {generation = ARGV[3], epoch = ARGV[4], attempt = job.attempt}) > 0 then return 0 end
pull(job, place)
touch()
return 1

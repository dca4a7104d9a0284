-- uses: fleet
-- Makes a session's ready lo job hi, in its place: its session waits at hard.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  member
-- Reply    1, or 0: no ready job, or it is hi already
local job, place = ready_job(ARGV[1])
if not job or job.urgency == 'hi' then return 0 end
redis.call('ZREM', READY, place)
job.urgency = 'hi'
write_ready(job)
touch()
return 1

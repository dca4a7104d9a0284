-- uses: fleet, letters
-- Takes a dead letter out.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  the job's id
-- Reply    the job {urgency, attempt, json}, or nil: no such letter
local reason, job = read_letter(ARGV[1])
if not reason then return false end
drop_letter(ARGV[1])
touch()
return reply_of(job)

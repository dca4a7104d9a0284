-- uses: fleet, letters
-- Takes everything about a session out of the index: its ready job, its running attempts, its dead letters, when
-- it was served.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  member
-- Reply    ready jobs, running attempts taken out
local member = ARGV[1]
local job, place = ready_job(member)
if job then pull(job, place) end
local ended = 0
for _, attempt in ipairs(attempts_of(member)) do
  if finish(attempt) then ended = ended + 1 end
end
for _, id in ipairs(redis.call('HKEYS', LETTERS)) do
  local _, dead = read_letter(id)
  if dead.member == member then drop_letter(id) end
end
redis.call('ZREM', SESSIONS_SERVED, member)
touch()
return {job and 1 or 0, ended}

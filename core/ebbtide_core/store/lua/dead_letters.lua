-- uses: fleet, letters
-- Lists the jobs that were given up, the newest first.
--
-- KEYS   as in lib/fleet.lua
-- Reply  {reason, when it died, job {urgency, attempt, json}} for each
local found = {}
local listed = redis.call('ZREVRANGE', DEAD, 0, -1, 'WITHSCORES')
for i = 1, #listed, 2 do
  local reason, job = read_letter(listed[i])
  if reason then found[#found + 1] = {reason, tonumber(listed[i + 1]), reply_of(job)} end
end
return found

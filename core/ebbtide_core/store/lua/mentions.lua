-- uses: fleet, letters
-- Counts where the index names a session. Believes no key: each is looked at for itself.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  member
-- Reply    how many entries of the index name it
local member = ARGV[1]
local tenant, session = tenant_of(member), string.match(member, '[^/]*$')
local found = redis.call('HEXISTS', JOBS, member)

for _, key in ipairs({SINCE, SESSIONS_SERVED}) do
  if redis.call('ZSCORE', key, member) then found = found + 1 end
end
local named = {redis.call('ZRANGE', RUNNING, 0, -1), redis.call('HKEYS', ATTEMPTS), redis.call('HKEYS', PLACES)}
for _, attempts in ipairs(named) do
  for _, attempt in ipairs(attempts) do
    if member_of(attempt) == member then found = found + 1 end
  end
end
for _, id in ipairs(redis.call('HKEYS', LETTERS)) do
  local _, dead = read_letter(id)
  if dead.member == member then found = found + 1 end
end
for _, place in ipairs(redis.call('ZRANGEBYLEX', READY, '[' .. tenant .. '/', '(' .. tenant .. '0')) do
  if string.match(place, '[^/]*$') == session then found = found + 1 end
end
return found

-- Empties values. An empty one stays for a while, so that nobody stores a new one in its place.
--
-- KEYS     strings, there or not
-- ARGV[1]  lifetime of the empty ones
-- Reply    how many held something
local emptied = 0
for _, key in ipairs(KEYS) do
  if redis.call('STRLEN', key) > 0 then emptied = emptied + 1 end
  redis.call('SET', key, '', 'PX', ARGV[1])
end
return emptied

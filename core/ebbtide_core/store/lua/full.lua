-- Counts the values that hold something.
--
-- KEYS   strings, there or not
-- Reply  how many
local found = 0
for _, key in ipairs(KEYS) do
  if redis.call('STRLEN', key) > 0 then found = found + 1 end
end
return found

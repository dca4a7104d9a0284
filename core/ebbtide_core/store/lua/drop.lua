-- Deletes values. An empty one stays: it keeps others from storing in its place.
--
-- KEYS   strings
-- Reply  how many were deleted
local dropped = 0
for _, key in ipairs(KEYS) do
  if redis.call('STRLEN', key) > 0 then dropped = dropped + redis.call('DEL', key) end
end
return dropped

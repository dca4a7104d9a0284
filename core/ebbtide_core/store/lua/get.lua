-- Reads values.
--
-- KEYS   strings
-- Reply  value or nil of each
local values = {}
for i, key in ipairs(KEYS) do values[i] = redis.call('GET', key) end
return values

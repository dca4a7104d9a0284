-- Removes keys of any type; their memory is freed in the background.
--
-- KEYS   any
-- Reply  how many there were
local removed = 0
for _, key in ipairs(KEYS) do removed = removed + redis.call('UNLINK', key) end
return removed

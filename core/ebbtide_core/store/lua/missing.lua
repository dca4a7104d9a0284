-- Tells which keys are absent, and extends the lifetime of those that are present.
--
-- KEYS     strings, uploads of one session
-- ARGV[1]  lifetime
-- Reply    the absent ones as places in KEYS, from 1
local absent = {}
for i, key in ipairs(KEYS) do
  if redis.call('PEXPIRE', key, ARGV[1]) == 0 then absent[#absent + 1] = i end
end
return absent

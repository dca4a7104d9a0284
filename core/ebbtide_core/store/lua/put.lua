-- Stores values, over what is there.
--
-- KEYS       strings
-- ARGV[1]    lifetime
-- ARGV[i+1]  value of KEYS[i]
-- Reply      how many
for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1]) end
return #KEYS

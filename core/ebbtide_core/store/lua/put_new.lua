-- Stores a value unless there is one.
--
-- KEYS[1]  string
-- ARGV[1]  lifetime
-- ARGV[2]  value
-- Reply    1, or 0: there is one
return redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1]) and 1 or 0

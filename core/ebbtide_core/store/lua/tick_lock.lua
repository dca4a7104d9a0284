-- Lets one worker at a time do maintenance.
--
-- KEYS[1]  string, the worker that has the lock
-- ARGV[1]  worker
-- ARGV[2]  lifetime of the lock
-- Reply    1, or 0: another has it
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0

-- Stores a policy. It never runs out: it is a declaration, not a state.
--
-- KEYS[1]  string
-- ARGV[1]  the policy as JSON
-- Reply    1
redis.call('SET', KEYS[1], ARGV[1])
return 1

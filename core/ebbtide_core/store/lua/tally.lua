-- Reads how often what happened to a session.
--
-- KEYS[1]  hash, event -> how often
-- Reply    event, times, event, times, …
return redis.call('HGETALL', KEYS[1])

-- Reads which memos hold partials of a session.
--
-- KEYS[1]  zset, as in memos_used
-- Reply    names
return redis.call('ZRANGE', KEYS[1], 0, -1)

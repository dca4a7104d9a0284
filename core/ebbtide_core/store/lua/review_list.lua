-- Reads a session's review list.
--
-- KEYS[1]  list, as in review_add
-- Reply    its entries, newest first
return redis.call('LRANGE', KEYS[1], 0, -1)

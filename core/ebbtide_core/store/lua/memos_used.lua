-- uses: state
-- Notes which memos of the tenant hold partials of the session, before any of them is read or stored.
--
-- KEYS[1]    the session's state
-- KEYS[2]    zset, name of a memo -> when the memo has run out at the latest
-- ARGV[1]    incarnation
-- ARGV[2]    generation
-- ARGV[3]    lifetime of memos
-- ARGV[4..]  names of memos
-- Reply      1, or 0: another incarnation or generation, or no state; nothing was noted
if not load_state() or not current(ARGV[1], ARGV[2]) then return 0 end
local now = now_ms()
for i = 4, #ARGV do redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1

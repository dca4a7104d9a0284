-- uses: state, breaker, claim, headers, view
-- Reads a session's state without changing it: counts no turn, renews no lifetime.
--
-- KEYS[1]  the session's state
-- Reply    nil: no state; else {milliseconds since it was last written, breaker, the view as in lib/view.lua},
--          breaker {failures in a row, turns since it opened, milliseconds since then or nil}
if not load_state() then return false end
local now = now_ms()
end_lapsed_claim(now)
local opened = breaker_opened()
local idle = int('ttl') - redis.call('PTTL', KEYS[1])
return {idle, {int('brk_failures'), int('brk_turns'), opened and now - opened or false}, view()}

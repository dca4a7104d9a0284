-- uses: state, breaker, claim, headers, view
-- Reads a session's state without changing it: counts no turn, renews no lifetime.
--
-- KEYS[1]  the session's state
-- Reply    nil: no state; else {milliseconds since it was last written, failures in a row, the view as in
--          lib/view.lua}
if not load_state() then return false end
end_lapsed_claim(now_ms())
return {int('ttl') - redis.call('PTTL', KEYS[1]), int('brk_failures'), view()}

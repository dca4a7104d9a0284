-- uses: state, breaker
-- Closes the breaker by hand. A claim that is there stays, and its outcome counts.
--
-- KEYS[1]  the session's state
-- Reply    1, or 0: no state
if not load_state() then return 0 end
breaker_reset()
save()
return 1

-- uses: state, breaker, claim
-- Begins a new generation, whatever the present one is; not counted as a fork. Creates the state when absent.
--
-- KEYS[1]  the session's state
-- ARGV[1]  incarnation of a state created here
-- ARGV[2]  lifetime of the state
-- Reply    the new generation
if not load_state() then create(ARGV[1]) end
set('gen', int('gen') + 1)
end_claim()
save(ARGV[2])
return int('gen')

-- uses: state, breaker, claim
-- Ends the claim with an outcome. Only the attempt that holds the claim counts, or a later one of the same job,
-- whose worker died before it could ask the guard.
--
-- KEYS[1]  the session's state
-- ARGV[1]  incarnation
-- ARGV[2]  generation
-- ARGV[3]  job
-- ARGV[4]  epoch
-- ARGV[5]  attempt
-- ARGV[6]  success | failure | neutral
-- ARGV[7]  failures in a row that open the breaker
-- ARGV[8]  lifetime of the state
-- Reply    1, or 0: another's, nothing changed
if not load_state() or not current(ARGV[1], ARGV[2]) then return 0 end
if not claim_is(ARGV[3], ARGV[4]) or int('claim_attempt') > tonumber(ARGV[5]) then return 0 end
breaker_outcome(ARGV[6], int('claim_epoch'), tonumber(ARGV[7]))
end_claim()
save(ARGV[8])
return 1

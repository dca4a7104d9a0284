-- uses: state, breaker, claim
-- Ends the session's claim, whatever its stage, without an outcome: a worker that has the job hears it at its
-- next guard. A claim that has run out counts too, since its worker may still be at work.
--
-- KEYS[1]  the session's state
-- ARGV[1]  lifetime of the state
-- Reply    what was ended: {job, incarnation, generation, epoch, stage}; nil: there was no claim
if not load_state() or not state.claim_job then return false end
local ended = {state.claim_job, state.inc, int('claim_generation'), int('claim_epoch'), state.claim_stage}
end_claim()
save(ARGV[1])
return ended

-- uses: state, breaker, claim
-- Notes that the claimed job is in the ready index.
--
-- KEYS[1]  the session's state
-- ARGV[1]  job
-- ARGV[2]  epoch
-- ARGV[3]  lease while it waits there
-- Reply    1, or 0: no such claim, or it is queued or running already
if not load_state() then return 0 end
if not claim_is(ARGV[1], ARGV[2]) or state.claim_stage ~= 'claimed' then return 0 end
set('claim_stage', 'queued')
set('claim_until', now_ms() + tonumber(ARGV[3]))
save()
return 1

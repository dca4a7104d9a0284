-- uses: state, breaker, claim
-- Notes that a worker handed the claimed job back to the ready index, whether or not it had asked the guard. The
-- next attempt holds the claim from now on: what the one handed back still says is not heard.
--
-- KEYS[1]  the session's state
-- ARGV[1]  job
-- ARGV[2]  epoch
-- ARGV[3]  attempt that was handed back
-- ARGV[4]  lease while it waits there
-- Reply    1, or 0: no such claim, or a later attempt holds it
if not load_state() then return 0 end
if not claim_is(ARGV[1], ARGV[2]) or int('claim_attempt') > tonumber(ARGV[3]) then return 0 end
set('claim_attempt', tonumber(ARGV[3]) + 1)
set('claim_stage', 'queued')
set('claim_until', now_ms() + tonumber(ARGV[4]))
save()
return 1

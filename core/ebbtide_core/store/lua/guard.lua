-- uses: state, breaker, claim
-- Asked by a worker before it starts and at each renewal: may this attempt go on? GO renews the claim, also
-- one that has run out while nobody else took it.
--
-- KEYS[1]  the session's state
-- ARGV[1]  incarnation
-- ARGV[2]  generation
-- ARGV[3]  job
-- ARGV[4]  epoch
-- ARGV[5]  attempt
-- ARGV[6]  number of the newest record at the claim
-- ARGV[7]  its body
-- ARGV[8]  lease while it runs
-- Reply    go | fenced | superseded | replaced
local attempt = tonumber(ARGV[5])

if not load_state() or not current(ARGV[1], ARGV[2]) then return 'fenced' end
if not newest_is(ARGV[6], ARGV[7]) then return 'superseded' end
if not claim_is(ARGV[3], ARGV[4]) or int('claim_attempt') > attempt then return 'replaced' end

set('claim_attempt', attempt)
set('claim_stage', 'running')
set('claim_until', now_ms() + tonumber(ARGV[8]))
save()
return 'go'

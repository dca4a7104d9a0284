-- uses: state, breaker, claim, headers
-- Gives the session's one claim, or says why not. The epoch rises with every claim and never restarts.
--
-- KEYS[1]   the session's state
-- ARGV[1]   incarnation seen
-- ARGV[2]   generation seen
-- ARGV[3]   job
-- ARGV[4]   position `count:digest`
-- ARGV[5]   tokens since the newest record
-- ARGV[6]   tokens that are worth a job
-- ARGV[7]   version of a record that the host could swap now, or 0
-- ARGV[8]   urgency hi | lo
-- ARGV[9]   lease until the job is queued
-- ARGV[10]  lifetime of the state
-- Reply     {own, epoch, newest, its body} | {busy, stage} | {ready, version}
--           | {stale} | {split_brain} | {behind} | {too_little} | {breaker_open}
local generation, position, urgency, ttl = ARGV[2], ARGV[4], ARGV[8], ARGV[10]

if not load_state() or not current(ARGV[1], generation) then return {'stale'} end
if int('turns') < int('split_until') then return {'split_brain'} end
if reached(generation, position) then return {'behind'} end

local now = now_ms()
local ended = end_lapsed_claim(now)

local function answer(reply, must_save)
  if must_save then save(ttl) end
  return reply
end

if state.claim_job then
  local raised = urgency == 'hi' and state.claim_urgency == 'lo'
  if raised then set('claim_urgency', 'hi') end
  return answer({'busy', state.claim_stage}, raised)
end
if ARGV[7] ~= '0' then return answer({'ready', tonumber(ARGV[7])}, ended) end
if tonumber(ARGV[5]) < tonumber(ARGV[6]) then return answer({'too_little'}, ended) end
if not breaker_allows_claim() then return answer({'breaker_open'}, ended) end

local epoch = int('epoch') + 1
set('epoch', epoch)
breaker_claim(epoch)
set('claim_job', ARGV[3])
set('claim_epoch', epoch)
set('claim_generation', generation)
set('claim_attempt', 0)
set('claim_position', position)
set('claim_urgency', urgency)
set('claim_stage', 'claimed')
set('claim_until', now + tonumber(ARGV[9]))
save(ttl)
return {'own', epoch, int('newest'), state.newest_body or ''}

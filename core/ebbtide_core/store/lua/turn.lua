-- uses: state, breaker, claim, headers
-- Counts a turn of a host once and returns what the session's state holds. Creates the state when absent.
--
-- KEYS[1]  the session's state
-- ARGV[1]  host
-- ARGV[2]  the host's number of the turn: counted when higher than its last
-- ARGV[3]  incarnation of a state created here
-- ARGV[4]  model
-- ARGV[5]  ratio of the model to store, or ''
-- ARGV[6]  lifetime of the state
-- ARGV[7]  counted turns after which an open breaker becomes half-open
-- Reply    incarnation, generation, newest, its body, turns, breaker, split brain (0|1), mode or nil,
--          ratio or nil,
--          claim or nil: {job, generation, epoch, position, stage, urgency},
--          headers, oldest first: {version, generation, position, body, withdrawn}
local HOSTS, RATIOS = 16, 16
local host, seq, model, ratio = 'host:' .. ARGV[1], tonumber(ARGV[2]), 'ratio:' .. ARGV[4], ARGV[5]

if not load_state() then create(ARGV[3]) end

local last = state[host] and tonumber(string.match(state[host], '^%d+ (%d+)$'))
local uses = int('uses') + 1
set('uses', uses)
if not last or seq > last then
  set('turns', int('turns') + 1)
  breaker_turn(tonumber(ARGV[7]))
  last = seq
end
local known = state[host]
set(host, string.format('%.0f %.0f', uses, last))
if not known then keep_latest('host:', HOSTS) end

end_lapsed_claim(now_ms())

if ratio ~= '' then
  known = state[model]
  set(model, string.format('%.0f %s', uses, ratio))
  if not known then keep_latest('ratio:', RATIOS) end
end

save(ARGV[6])

local claim = false
if state.claim_job then
  claim = {
    state.claim_job, int('claim_generation'), int('claim_epoch'), state.claim_position, state.claim_stage,
    state.claim_urgency,
  }
end
local kept = {}
for i, header in ipairs(headers()) do
  kept[i] = {header.version, header.generation, header.position, header.body, header.withdrawn}
end
return {
  state.inc, int('gen'), int('newest'), state.newest_body or '', int('turns'), breaker_state(),
  int('turns') < int('split_until') and 1 or 0, state.mode or false,
  state[model] and string.match(state[model], '^%d+ (.*)$') or false, claim, kept,
}

-- What a session's state tells, as a reply:
--   incarnation, generation, newest, its body, turns, breaker, split brain (0|1), mode or nil,
--   ratio or nil,
--   claim or nil: {job, generation, epoch, position, stage, urgency},
--   headers, oldest first: {version, generation, position, body, withdrawn}
local function claim_view()
  if not state.claim_job then return false end
  return {
    state.claim_job, int('claim_generation'), int('claim_epoch'), state.claim_position, state.claim_stage,
    state.claim_urgency,
  }
end

-- `ratio` is the field of a model's ratio; without it none is told.
local function view(ratio)
  local kept = {}
  for i, header in ipairs(headers()) do
    kept[i] = {header.version, header.generation, header.position, header.body, header.withdrawn}
  end
  return {
    state.inc, int('gen'), int('newest'), state.newest_body or '', int('turns'), breaker_state(),
    int('turns') < int('split_until') and 1 or 0, state.mode or false,
    ratio and state[ratio] and string.match(state[ratio], '^%d+ (.*)$') or false, claim_view(), kept,
  }
end

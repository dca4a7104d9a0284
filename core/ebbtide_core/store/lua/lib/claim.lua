-- The one compaction a session may have going.
local CLAIM = {'job', 'epoch', 'generation', 'attempt', 'position', 'urgency', 'stage', 'until'}

local function end_claim()
  if not state.claim_job then return end
  breaker_claim_end(int('claim_epoch'))
  for _, field in ipairs(CLAIM) do drop('claim_' .. field) end
end

-- Returns whether there was one that had run out.
local function end_lapsed_claim(now)
  if not state.claim_job or int('claim_until') >= now then return false end
  end_claim()
  return true
end

local function claim_is(job, epoch)
  return state.claim_job == job and int('claim_epoch') == tonumber(epoch)
end

-- The breaker around making summaries: the rules of `ebbtide_core.breaker`, on the state's brk_* fields.
local function breaker_state() return state.brk_state or 'closed' end

local function breaker_half()
  set('brk_state', 'half')
  set('brk_turns', 0)
  set('brk_probe', 0)
  drop('brk_opened')
end

local function breaker_turn(cooldown)
  if breaker_state() ~= 'open' then return end
  set('brk_turns', int('brk_turns') + 1)
  if int('brk_turns') >= cooldown then breaker_half() end
end

-- Returns when it opened; nil unless it is open, and when nobody noted it. Scripts of an older fleet leave the time
-- behind when they close it.
local function breaker_opened()
  if breaker_state() == 'open' and state.brk_opened then return int('brk_opened') end
end

-- Without `cooldown`, only turns make it half-open.
local function breaker_time(now, cooldown)
  local opened = breaker_opened()
  if not opened then return drop('brk_opened') end
  if cooldown and now - opened >= cooldown then breaker_half() end
end

local function breaker_allows_claim()
  return breaker_state() == 'closed' or (breaker_state() == 'half' and int('brk_probe') == 0)
end

local function breaker_claim(epoch)
  if breaker_state() == 'half' then set('brk_probe', epoch) end
end

local function breaker_claim_end(epoch)
  if int('brk_probe') == epoch then set('brk_probe', 0) end
end

local function breaker_reset()
  for _, field in ipairs({'state', 'failures', 'turns', 'probe', 'opened'}) do drop('brk_' .. field) end
end

local function breaker_failure(failures_to_open)
  set('brk_failures', int('brk_failures') + 1)
  if breaker_state() ~= 'half' and int('brk_failures') < failures_to_open then return end
  set('brk_state', 'open')
  set('brk_turns', 0)
  set('brk_probe', 0)
  set('brk_opened', now_ms())
end

local function breaker_outcome(outcome, epoch, failures_to_open)
  if outcome == 'success' then return breaker_reset() end
  if outcome == 'failure' then return breaker_failure(failures_to_open) end
  breaker_claim_end(epoch)
end

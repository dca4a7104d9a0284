-- A provider account's limiter and breaker: the rules of `ebbtide_core.limiter`, in the same order of
-- operations, so that both come to the same numbers.
--
-- KEYS[1]  hash, one account; absent fields are '' or 0:
--   seen_since, seen_count, seen_before  calls told of in the window that began then, and in the one before
--   rate                                 calls a second; absent: no limit
--   ceiling, cut                         rate that the provider last cut, 0 when it has not yet; when that was
--   at, level, issued                    places that had come due by then, places given
--   until                                no place comes due before
--   spaced                               no call goes before
--   felt                                 until when a call felt the limit, or none may go
--   ramp                                 1: the provider limits how fast use may rise
--   failures                             in a row, while no block stands
--   block                                auth | spend_limit | provider_down
--   block_until, block_seconds, probe    when one call may probe; for how long it was shut; when its place ends
-- All times and durations are seconds, times since the epoch.
local FEWEST, DECREASE, CUT_EVERY = 1 / 60, 0.5, 1
local FAST, SLOW, NEAR, RAMPING = 0.3, 0.015, 0.1, 0.25
local FELT, FELT_FOR, LIFTED_AFTER, LONGEST_PAUSE, WINDOW = 0.2, 5, 60, 60, 5
local STEP, FAILURES_TO_OPEN, PROBE_SECONDS = 5, 5, 60
local FIRST = {provider_down = 5, auth = 60, spend_limit = 300}
local MOST = {provider_down = 60, auth = 600, spend_limit = 600}
local CLOSES = {trouble = 'provider_down', auth = 'auth', spend_limit = 'spend_limit'}
local ALMOST = 1e-9
local LIMIT = {'rate', 'ceiling', 'cut', 'at', 'level', 'issued', 'until', 'spaced', 'felt', 'ramp'}
local GATE = {'failures', 'block', 'block_until', 'block_seconds', 'probe'}

local account = {}
local now = now_ms() / 1000

-- Exact: read again it is the same number.
local function exact(number) return string.format('%.17g', number) end

local function num(field) return account[field] or 0 end

local function drop(fields)
  for _, field in ipairs(fields) do account[field] = nil end
end

-- A limit that no call felt in a while is lifted. What was learnt at times that have not come is forgotten.
local function load_account()
  local flat = redis.call('HGETALL', KEYS[1])
  for i = 1, #flat, 2 do
    account[flat[i]] = flat[i] == 'block' and flat[i + 1] or tonumber(flat[i + 1])
  end
  if now + STEP < math.max(num('seen_since'), num('at'), num('block_until') - num('block_seconds')) then
    account = {}
  end
  if account.rate and now - num('felt') >= LIFTED_AFTER then drop(LIMIT) end
end

local function save_account(ttl)
  local flat = {}
  for field, value in pairs(account) do
    if value ~= 0 then
      flat[#flat + 1] = field
      flat[#flat + 1] = field == 'block' and value or exact(value)
    end
  end
  redis.call('DEL', KEYS[1])
  if #flat == 0 then return end
  redis.call('HSET', KEYS[1], unpack(flat))
  redis.call('PEXPIRE', KEYS[1], ttl)
end

local function is_free() return not account.rate and not account.block and num('failures') == 0 end

local function seen_plus(calls)
  if now - num('seen_since') >= 2 * WINDOW then
    account.seen_since, account.seen_count, account.seen_before = now, calls, 0
  elseif now - num('seen_since') >= WINDOW then
    account.seen_since = num('seen_since') + WINDOW
    account.seen_count, account.seen_before = calls, num('seen_count')
  else
    account.seen_count = num('seen_count') + calls
  end
end

local function seen_rate()
  local age = now - num('seen_since')
  return (num('seen_before') + num('seen_count')) / (num('seen_before') > 0 and WINDOW + age or math.max(1, age))
end

local function limit_flow()
  local flowing = math.max(0, now - math.max(num('at'), num('until')))
  account.level = math.min(num('level') + flowing * account.rate, num('issued') + 1)
  account.at = math.max(num('at'), now)
end

local function whole(seconds) return math.ceil(1000 * seconds) / 1000 end

local function limit_due(ticket)
  local missing, pause = ticket - num('level'), math.max(0, num('until') - now)
  if missing <= ALMOST and pause <= 0 then return 0 end
  return whole(math.max(0, missing) / account.rate + pause)
end

-- Returns the verdict, the seconds to wait and the place.
local function limit_asked(ticket, waited, patience)
  limit_flow()
  local mine = (ticket > 0 and ticket <= num('issued')) and ticket or num('issued') + 1
  local wait = limit_due(mine)
  local seconds = wait > 0 and wait or whole(math.max(0, num('spaced') - now))
  local late = seconds > patience
  if waited + seconds >= FELT then account.felt = math.max(num('felt'), late and now or now + seconds) end
  if late then return 'late', seconds, 0 end
  account.issued = math.max(num('issued'), mine)
  if wait > 0 then return 'wait', wait, mine end
  account.spaced = math.max(num('spaced'), now) + 1 / account.rate
  return 'go', seconds, 0
end

local function limit_answered(calls)
  if now - num('felt') > FELT_FOR then return end
  local near = math.abs(account.rate - num('ceiling')) < NEAR * num('ceiling')
  local step = (near and SLOW or FAST) * (num('ramp') == 1 and RAMPING or 1) * math.min(1, account.rate)
  limit_flow()
  account.rate = account.rate + calls * step
end

local function limit_limited(retry_after, ramp)
  if not account.rate then
    account.rate, account.cut, account.at = math.max(FEWEST, DECREASE * seen_rate()), now, now
  else
    limit_flow()
    if now - num('cut') >= CUT_EVERY then
      account.ceiling, account.cut = account.rate, now
      account.rate = math.max(FEWEST, DECREASE * account.rate)
    end
  end
  account.level = math.min(num('level'), num('issued'))
  account['until'] = math.max(num('until'), now + math.min(retry_after, LONGEST_PAUSE))
  account.felt, account.ramp = math.max(num('felt'), account['until']), ramp and 1 or 0
end

local function gate_left()
  if not account.block then return 0 end
  if now < num('block_until') then return num('block_until') - now end
  return math.min(math.max(0, num('probe') - now), FIRST.provider_down)
end

local function gate_passed()
  if account.block then account.probe = now + PROBE_SECONDS end
end

local function gate_answered()
  if not (account.block and now < num('block_until')) then drop(GATE) end
end

local function gate_shut(reason, retry_after)
  local seconds = account.block == reason and math.min(MOST[reason], 2 * num('block_seconds')) or FIRST[reason]
  if retry_after and reason ~= 'provider_down' then seconds = math.min(MOST[reason], math.max(1, retry_after)) end
  drop(GATE)
  account.block, account.block_until, account.block_seconds = reason, now + seconds, seconds
end

local function gate_failed(reason, retry_after)
  local down = reason == 'provider_down'
  if account.block and now < num('block_until') then
    if not down and account.block == 'provider_down' then gate_shut(reason, retry_after) end
  elseif down and not account.block and num('failures') + 1 < FAILURES_TO_OPEN then
    account.failures = num('failures') + 1
  else
    gate_shut(reason, retry_after)
  end
end

-- Counts calls that were answered while the account was free. They end no probe.
local function count_answered(calls)
  if calls == 0 then return end
  seen_plus(calls)
  if not account.block then drop(GATE) end
  if account.rate then limit_answered(calls) end
end

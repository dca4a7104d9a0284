-- What a tenant may have, by LIMITS, and what was paid for it today, by SPENT. A day is one of UTC.
local function read_limits(text)
  if not text then return {weight = 1} end
  local mode, concurrency, weight, pending, tokens, micros =
    string.match(text, '^(%l+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  return {
    off = mode == 'off', concurrency = tonumber(concurrency), weight = tonumber(weight) or 1,
    pending = tonumber(pending), tokens = tonumber(tokens), micros = tonumber(micros),
  }
end

local function limits_of(tenant)
  local found = redis.call('HMGET', LIMITS, tenant, '*')
  return read_limits(found[1] or found[2])
end

local function day_of(now) return whole(math.floor(now / DAY_MS)) end

-- Returns tokens and millionths of a dollar.
local function spent_today(tenant, now)
  local day, tokens, micros = string.match(redis.call('HGET', SPENT, tenant) or '', '^(%d+) (%d+) (%d+)$')
  if day ~= day_of(now) then return 0, 0 end
  return tonumber(tokens), tonumber(micros)
end

-- Returns whether there was anything to count.
local function pay(tenant, now, tokens, micros)
  if tokens <= 0 and micros <= 0 then return false end
  local tokens_before, micros_before = spent_today(tenant, now)
  local entry = {day_of(now), whole(tokens_before + tokens), whole(micros_before + micros)}
  redis.call('HSET', SPENT, tenant, table.concat(entry, ' '))
  return true
end

-- Returns which of the tenant's daily budgets is used up, or nil.
local function used_up(tenant, limits, now)
  if not limits.tokens and not limits.micros then return nil end
  local tokens, micros = spent_today(tenant, now)
  if limits.tokens and tokens >= limits.tokens then return 'tokens_a_day' end
  if limits.micros and micros >= limits.micros then return 'spend_a_day' end
end

-- The session's state: loaded whole, changed in memory, written once by `save`.
--
-- KEYS[1]  hash, one session; absent fields are '' or 0:
--   inc, gen                  incarnation (random name of one life of the state) and generation
--   newest, newest_body       number and body digest of the newest record
--   h:<version>               header of a kept record: `generation count:digest withdrawn(0|1) body`
--   epoch                     number of the last claim
--   claim_job, claim_epoch, claim_generation, claim_attempt, claim_position, claim_urgency
--   claim_stage               claimed | queued | running
--   claim_until               when the claim runs out
--   brk_state                 closed | open | half
--   brk_failures, brk_turns   failures in a row; turns counted since it opened
--   brk_probe                 epoch of the probe under way
--   brk_opened                when it opened; absent unless open
--   turns                     counted turns
--   forks, split_until        turns of the last forks, by commas; first turn at which claims are given again
--   uses                      calls of `turn`
--   host:<id>                 `last seq, uses at its last call`
--   ratio:<model>             `uses when it was stored, tokens reported over tokens estimated`
--   mode                      off | shadow | on
--   ttl                       lifetime of the state after each write
-- All times and durations are milliseconds, times since the epoch.
local state
local changed = {}
local dropped = {}

-- Returns false when the session has no state.
local function load_state()
  local flat = redis.call('HGETALL', KEYS[1])
  if #flat == 0 then return false end
  state = {}
  for i = 1, #flat, 2 do state[flat[i]] = flat[i + 1] end
  return true
end

local function int(field) return tonumber(state[field] or 0) end

local function set(field, value)
  if type(value) == 'number' then value = string.format('%.0f', value) end
  if state[field] == value then return end
  state[field], changed[field], dropped[field] = value, value, nil
end

local function drop(field)
  if not state[field] then return end
  state[field], changed[field], dropped[field] = nil, nil, true
end

local function create(incarnation)
  state = {}
  set('inc', incarnation)
  set('gen', 0)
end

-- Without `ttl`, the lifetime is the one last given.
local function save(ttl)
  if ttl then set('ttl', ttl) end
  local pairs_of, fields = {}, {}
  for field, value in pairs(changed) do
    pairs_of[#pairs_of + 1] = field
    pairs_of[#pairs_of + 1] = value
  end
  for field in pairs(dropped) do fields[#fields + 1] = field end
  if #pairs_of > 0 then redis.call('HSET', KEYS[1], unpack(pairs_of)) end
  if #fields > 0 then redis.call('HDEL', KEYS[1], unpack(fields)) end
  redis.call('PEXPIRE', KEYS[1], state.ttl)
end

-- Says whether the caller speaks of this life of the state and of its present generation.
local function current(incarnation, generation)
  return state.inc == incarnation and int('gen') == tonumber(generation)
end

local function newest_is(number, body)
  return int('newest') == tonumber(number) and (state.newest_body or '') == body
end

-- Keeps the `limit` fields of a prefix whose value begins with the highest number.
local function keep_latest(prefix, limit)
  local found = {}
  for field, value in pairs(state) do
    if string.sub(field, 1, #prefix) == prefix then
      found[#found + 1] = {field, tonumber(string.match(value, '^%d+'))}
    end
  end
  table.sort(found, function(a, b) return a[2] > b[2] end)
  for i = limit + 1, #found do drop(found[i][1]) end
end

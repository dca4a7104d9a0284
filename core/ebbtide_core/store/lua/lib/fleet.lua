-- The ready index and the running leases of all workers. A session has at most one ready job. Times are
-- milliseconds since the epoch, tenants and sessions are percent-encoded, a member is `tenant/session`.
--
-- KEYS[1]   zset  ready: all of score 0, in the order of being served: `tenant/rank/served/seq/session`,
--                 where rank is 0 (hi) or 1 (lo), served the serial at which the session was last served,
--                 seq the serial at which the job was put in
-- KEYS[2]   zset  tenants that have ready jobs -> serial that orders them: at which their last turn ended;
--                 never served: serial at which they came in, below all others
-- KEYS[3]   zset  member -> when its ready job was put in
-- KEYS[4]   hash  member -> its ready job: `urgency served seq incarnation generation epoch attempt json`
-- KEYS[5]   zset  running attempt `member incarnation generation epoch attempt` -> when its lease runs out
-- KEYS[6]   hash  running attempt -> `worker urgency json`
-- KEYS[7]   hash  tenant -> number of its running attempts
-- KEYS[8]   zset  tenant -> serial at which it was last served, the latest TENANTS_KNOWN
-- KEYS[9]   zset  member -> serial at which it was last served, the latest SESSIONS_KNOWN
-- KEYS[10]  hash  serial: the last one given; ttl: lifetime of these keys after each write; day: the day
--                 since which no other day's entries are in KEYS[12]
-- KEYS[11]  hash  tenant, or `*` for tenants that have no entry -> `mode concurrency weight max_pending tokens
--                 micros`, where tokens and micros may be paid in a day, `-` is no limit. Has no lifetime
-- KEYS[12]  hash  tenant -> what was paid for it: `day tokens micros`, days since the epoch, millionths of a
--                 dollar
-- KEYS[13]  hash  tenant whose turn has begun -> jobs that it may still take before it is the next one's turn
-- KEYS[14]  zset  dead letter's job -> when it died, the newest LETTERS_KEPT
-- KEYS[15]  hash  dead letter's job -> `reason member urgency attempt json`
-- KEYS[16]  hash  running attempt -> `handed taken served seq turn`, where handed is how many attempts before it
--                 workers that stopped have handed back, taken when it was taken, turn the serial that its
--                 tenant was ordered by then; or a ready job's attempt -> handed, if there were any
local READY, ACTIVE, SINCE, JOBS, RUNNING, ATTEMPTS, LOAD = unpack(KEYS, 1, 7)
local TENANTS_SERVED, SESSIONS_SERVED, META, LIMITS, SPENT, CREDIT, DEAD, LETTERS = unpack(KEYS, 8, 15)
local PLACES = KEYS[16]
local TENANTS_KNOWN, SESSIONS_KNOWN = 10000, 100000
local DAY_MS = 86400000
local NEVER = -2 ^ 52

local function whole(number) return string.format('%.0f', number) end

local function next_serial() return redis.call('HINCRBY', META, 'serial', 1) end

-- Without `ttl`, the lifetime is the one last given; a day in an index that was lost. What was paid lives for a day
-- at least, since it is counted by the day.
local function touch(ttl)
  if ttl then redis.call('HSET', META, 'ttl', ttl) else ttl = redis.call('HGET', META, 'ttl') or DAY_MS end
  for _, key in ipairs(KEYS) do
    local lives = key == SPENT and math.max(tonumber(ttl), DAY_MS) or ttl
    if key ~= LIMITS then redis.call('PEXPIRE', key, lives) end
  end
end

local function tenant_of(member) return string.match(member, '^[^/]*') end

-- A job is a table {member, urgency, incarnation, generation, epoch, attempt, json}; numbers as text. It has the
-- number `handed`; `served` and `seq` where it is ready or runs; `taken`, `turn` and a worker where it runs.
local function place_of(job, served, seq)
  local session = string.match(job.member, '[^/]*$')
  local rank = job.urgency == 'hi' and '0' or '1'
  return string.format('%s/%s/%016.0f/%016.0f/%s', tenant_of(job.member), rank, served, seq, session)
end

local function attempt_of(job)
  return table.concat({job.member, job.incarnation, job.generation, job.epoch, job.attempt}, ' ')
end

-- Returns the member's ready job and its place, or nil, also when it can't be read.
local function ready_job(member)
  local text = redis.call('HGET', JOBS, member)
  if not text then return nil end
  local job = {member = member}
  local served, seq
  job.urgency, served, seq, job.incarnation, job.generation, job.epoch, job.attempt, job.json =
    string.match(text, '^(%l+) (%d+) (%d+) ([^ ]*) (%d+) (%d+) (%d+) (.*)$')
  if not job.json then return nil end
  job.served, job.seq = tonumber(served), tonumber(seq)
  job.handed = tonumber(redis.call('HGET', PLACES, attempt_of(job)) or 0)
  return job, place_of(job, job.served, job.seq)
end

local function write_ready(job)
  redis.call('ZADD', READY, 0, place_of(job, job.served, job.seq))
  local fields = {job.urgency, whole(job.served), whole(job.seq), job.incarnation}
  local rest = {job.generation, job.epoch, job.attempt, job.json}
  redis.call('HSET', JOBS, job.member, table.concat(fields, ' ') .. ' ' .. table.concat(rest, ' '))
  if job.handed > 0 then redis.call('HSET', PLACES, attempt_of(job), job.handed) end
end

-- Puts a job in where its `served` and `seq` say. A tenant that had none ready goes behind those served before.
local function put_in_place(job, now)
  local tenant = tenant_of(job.member)
  write_ready(job)
  redis.call('ZADD', SINCE, now, job.member)
  if not redis.call('ZSCORE', ACTIVE, tenant) then
    local served = redis.call('ZSCORE', TENANTS_SERVED, tenant)
    redis.call('ZADD', ACTIVE, served or whole(NEVER + job.seq), tenant)
  end
end

local function put(job, now)
  job.seq = next_serial()
  job.served = tonumber(redis.call('ZSCORE', SESSIONS_SERVED, job.member) or 0)
  put_in_place(job, now)
end

-- Returns the first of the tenant's ready places, or nil.
local function first_place(tenant)
  return redis.call('ZRANGEBYLEX', READY, '[' .. tenant .. '/', '(' .. tenant .. '0', 'LIMIT', 0, 1)[1]
end

-- Takes a tenant that has no ready job any more out of the order.
local function end_of_turns(tenant)
  redis.call('ZREM', ACTIVE, tenant)
  redis.call('HDEL', CREDIT, tenant)
end

-- Makes room for another job of the same session.
local function displace(job, place)
  redis.call('ZREM', READY, place)
  redis.call('HDEL', PLACES, attempt_of(job))
end

local function pull(job, place)
  displace(job, place)
  redis.call('ZREM', SINCE, job.member)
  redis.call('HDEL', JOBS, job.member)
  local tenant = tenant_of(job.member)
  if not first_place(tenant) then end_of_turns(tenant) end
end

-- Takes the jobs out of the index that were put in before `limit`, and returns them, oldest first.
local function pull_older(limit)
  local found = {}
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', SINCE, '-inf', '(' .. whole(limit))) do
    local job, place = ready_job(member)
    if job then
      pull(job, place)
      found[#found + 1] = job
    else
      redis.call('ZREM', SINCE, member)
    end
  end
  return found
end

-- Says whether `a` is a later attempt of the same life of the session than `b`: 1, 0 (the same), -1.
local function compare(a, b)
  for _, field in ipairs({'generation', 'epoch', 'attempt'}) do
    local x, y = tonumber(a[field]), tonumber(b[field])
    if x ~= y then return x > y and 1 or -1 end
  end
  return 0
end

-- Returns whether the attempt was running.
local function finish(attempt)
  if redis.call('ZREM', RUNNING, attempt) == 0 then return false end
  redis.call('HDEL', ATTEMPTS, attempt)
  redis.call('HDEL', PLACES, attempt)
  local tenant = tenant_of(attempt)
  if redis.call('HINCRBY', LOAD, tenant, -1) <= 0 then redis.call('HDEL', LOAD, tenant) end
  return true
end

local function member_of(attempt) return string.match(attempt, '^[^ ]+') end

-- Returns the running attempts of a session. Looks at those of all: nothing on the way of a job asks.
local function attempts_of(member)
  local found = {}
  for _, attempt in ipairs(redis.call('ZRANGE', RUNNING, 0, -1)) do
    if member_of(attempt) == member then found[#found + 1] = attempt end
  end
  return found
end

local function write_running(attempt, job)
  redis.call('HSET', ATTEMPTS, attempt, table.concat({job.worker, job.urgency, job.json}, ' '))
  local place = {job.handed, whole(job.taken), whole(job.served), whole(job.seq), whole(job.turn)}
  redis.call('HSET', PLACES, attempt, table.concat(place, ' '))
end

-- Returns a running attempt's job; without `json` when a server that evicts keys has torn it apart, without the
-- numbers of its place when a worker took it whose scripts kept none.
local function running_job(attempt)
  local job = {}
  job.member, job.incarnation, job.generation, job.epoch, job.attempt =
    string.match(attempt, '^([^ ]+) ([^ ]*) (%d+) (%d+) (%d+)$')
  job.worker, job.urgency, job.json =
    string.match(redis.call('HGET', ATTEMPTS, attempt) or '', '^([^ ]*) (%l+) (.*)$')
  local place = redis.call('HGET', PLACES, attempt) or '0'
  local taken, served, seq, turn = string.match(place, '^%d+ (%d+) (%d+) (%d+) (-?%d+)$')
  job.taken, job.served, job.seq, job.turn = tonumber(taken), tonumber(served), tonumber(seq), tonumber(turn)
  job.handed = tonumber(string.match(place, '^%d+'))
  return job
end

-- Makes room for a job that comes back; false when a ready one of its session is not behind it.
local function makes_room(job)
  local ready, place = ready_job(job.member)
  if not ready then return true end
  if ready.incarnation ~= job.incarnation or compare(job, ready) <= 0 then return false end
  displace(ready, place)
  return true
end

local function reply_of(job) return {job.urgency, tonumber(job.attempt), job.json} end

local function reply_of_all(jobs)
  local replies = {}
  for i, job in ipairs(jobs) do replies[i] = reply_of(job) end
  return replies
end

-- uses: fleet, limits
-- Gives a worker the next job, and takes out those that waited too long. Next is the tenant served longest
-- ago among those below their cap, which keeps its turn until it took as many jobs as its weight; within it hi
-- before lo, then the session served longest ago, then the order of enqueueing.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  worker, percent-encoded
-- ARGV[2]  lease
-- ARGV[3]  how long a job may wait
-- ARGV[4]  attempts that a tenant may have running whose limits don't say, or ''
-- ARGV[5]  lifetime of the index
-- Reply    job | empty | capped, the job {urgency, attempt, json} or nil, how long it waited, those taken out
local BATCH = 32
local now, default_cap, ttl = now_ms(), tonumber(ARGV[4]), ARGV[5]
local dropped = pull_older(now - tonumber(ARGV[3]))
local default_limits = redis.call('HGET', LIMITS, '*')

-- Returns the tenant and its weight, or nil.
local function next_tenant()
  local from = 0
  while true do
    local tenants = redis.call('ZRANGE', ACTIVE, from, from + BATCH - 1)
    if #tenants == 0 then return nil end
    local loads = redis.call('HMGET', LOAD, unpack(tenants))
    local given = redis.call('HMGET', LIMITS, unpack(tenants))
    for i, tenant in ipairs(tenants) do
      local limits = read_limits(given[i] or default_limits)
      local cap = limits.concurrency or default_cap
      if not cap or tonumber(loads[i] or 0) < cap then return tenant, limits.weight end
    end
    from = from + BATCH
  end
end

-- Returns the job and how many more its tenant may take in this turn. Leaves out what a server that evicts
-- keys has torn apart.
local function next_job()
  for tenant, weight in next_tenant do
    local place = first_place(tenant)
    if place then
      local job = ready_job(tenant .. '/' .. string.match(place, '[^/]*$'))
      if job then
        job.waited = now - tonumber(redis.call('ZSCORE', SINCE, job.member) or now)
        job.turn = tonumber(redis.call('ZSCORE', ACTIVE, tenant))
        local credit = math.min(tonumber(redis.call('HGET', CREDIT, tenant) or weight), weight)
        pull(job, place)
        return job, credit - 1
      end
      redis.call('ZREM', READY, place)
    else
      end_of_turns(tenant)
    end
  end
end

local function remember(served, name, serial, known)
  redis.call('ZADD', served, serial, name)
  redis.call('ZREMRANGEBYRANK', served, 0, -known - 1)
end

local function go_on_with_turn(tenant, credit, serial)
  if not first_place(tenant) then return end
  if credit > 0 then
    redis.call('HSET', CREDIT, tenant, credit)
  else
    redis.call('HDEL', CREDIT, tenant)
    redis.call('ZADD', ACTIVE, serial, tenant)
  end
end

local function run(job, credit)
  local tenant, serial, attempt = tenant_of(job.member), next_serial(), attempt_of(job)
  remember(TENANTS_SERVED, tenant, serial, TENANTS_KNOWN)
  remember(SESSIONS_SERVED, job.member, serial, SESSIONS_KNOWN)
  go_on_with_turn(tenant, credit, serial)
  job.worker, job.taken = ARGV[1], now
  redis.call('ZADD', RUNNING, now + tonumber(ARGV[2]), attempt)
  write_running(attempt, job)
  redis.call('HINCRBY', LOAD, tenant, 1)
end

local job, credit = next_job()
if job then run(job, credit) end
if job or #dropped > 0 then touch(ttl) end
local status = job and 'job' or redis.call('EXISTS', ACTIVE) == 1 and 'capped' or 'empty'
return {status, job and reply_of(job) or false, job and job.waited or 0, reply_of_all(dropped)}

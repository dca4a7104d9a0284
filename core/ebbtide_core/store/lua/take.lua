-- uses: fleet
-- Gives a worker the next job, and takes out those that waited too long. Next is the tenant served longest
-- ago among those below the cap, within it hi before lo, then the session served longest ago, then the order
-- of enqueueing.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  worker, percent-encoded
-- ARGV[2]  lease
-- ARGV[3]  how long a job may wait
-- ARGV[4]  attempts that a tenant may have running, or ''
-- ARGV[5]  lifetime of the index
-- Reply    job | empty | capped, the job {urgency, attempt, json} or nil, how long it waited, those taken out
local BATCH = 32
local now, cap, ttl = now_ms(), tonumber(ARGV[4]), ARGV[5]
local dropped = pull_older(now - tonumber(ARGV[3]))

local function next_tenant()
  local from = 0
  while true do
    local tenants = redis.call('ZRANGE', ACTIVE, from, from + BATCH - 1)
    if #tenants == 0 then return nil end
    for _, tenant in ipairs(tenants) do
      if not cap or tonumber(redis.call('HGET', LOAD, tenant) or 0) < cap then return tenant end
    end
    from = from + BATCH
  end
end

-- Leaves out what a server that evicts keys has torn apart.
local function next_job()
  for tenant in next_tenant do
    local place = first_place(tenant)
    if place then
      local job = ready_job(tenant .. '/' .. string.match(place, '[^/]*$'))
      if job then
        job.waited = now - tonumber(redis.call('ZSCORE', SINCE, job.member) or now)
        pull(job, place)
        return job
      end
      redis.call('ZREM', READY, place)
    else
      redis.call('ZREM', ACTIVE, tenant)
    end
  end
end

local function remember(served, name, serial, known)
  redis.call('ZADD', served, serial, name)
  redis.call('ZREMRANGEBYRANK', served, 0, -known - 1)
end

local function run(job)
  local tenant, serial, attempt = tenant_of(job.member), next_serial(), attempt_of(job)
  remember(TENANTS_SERVED, tenant, serial, TENANTS_KNOWN)
  remember(SESSIONS_SERVED, job.member, serial, SESSIONS_KNOWN)
  if first_place(tenant) then redis.call('ZADD', ACTIVE, serial, tenant) end
  redis.call('ZADD', RUNNING, now + tonumber(ARGV[2]), attempt)
  redis.call('HSET', ATTEMPTS, attempt, table.concat({ARGV[1], job.urgency, job.json}, ' '))
  redis.call('HINCRBY', LOAD, tenant, 1)
end

local job = next_job()
if job then run(job) end
if job or #dropped > 0 then touch(ttl) end
local status = job and 'job' or redis.call('EXISTS', ACTIVE) == 1 and 'capped' or 'empty'
return {status, job and reply_of(job) or false, job and job.waited or 0, reply_of_all(dropped)}

-- uses: fleet
-- Lists what the index holds: ready jobs in the order of being served within their tenants, and running
-- attempts, whose lease runs out first first.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  the tenant, or '' for all
-- ARGV[2]  how many of each kind
-- Reply    jobs {state ready | running, age, worker or '', job {urgency, attempt, json}}, ready jobs, running
--          attempts of the tenant, or of all
local now, tenant, limit = now_ms(), ARGV[1], tonumber(ARGV[2])
local from, to = '-', '+'
if tenant ~= '' then from, to = '[' .. tenant .. '/', '(' .. tenant .. '0' end
local found = {}

local function list(state, since, job)
  found[#found + 1] = {state, now - tonumber(since or now), job.worker or '', reply_of(job)}
end

for _, place in ipairs(redis.call('ZRANGEBYLEX', READY, from, to, 'LIMIT', 0, limit)) do
  local member = tenant_of(place) .. '/' .. string.match(place, '[^/]*$')
  local job = ready_job(member)
  if job then list('ready', redis.call('ZSCORE', SINCE, member), job) end
end

local running = 0
for _, attempt in ipairs(redis.call('ZRANGE', RUNNING, 0, -1)) do
  if tenant == '' or tenant_of(attempt) == tenant then
    running = running + 1
    local job = running <= limit and running_job(attempt)
    if job and job.json then list('running', job.taken, job) end
  end
end
return {found, redis.call('ZLEXCOUNT', READY, from, to), running}

-- uses: fleet, limits
-- Puts a claimed job into the ready index, if its tenant may have it made. A session has one ready job: of one
-- life of the session the higher (generation, epoch, attempt) stays, of different lives the one that comes
-- later.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  member
-- ARGV[2]  urgency hi | lo
-- ARGV[3]  incarnation, percent-encoded
-- ARGV[4]  generation
-- ARGV[5]  epoch
-- ARGV[6]  attempt
-- ARGV[7]  the job as JSON
-- ARGV[8]  lifetime of the index
-- Reply    {queued} | {replaced} | {stale}: not newer than the ready one, or running
--          | {refused, off | max_pending | tokens_a_day | spend_a_day}: nothing changed
local job = {
  member = ARGV[1], urgency = ARGV[2], incarnation = ARGV[3], generation = ARGV[4], epoch = ARGV[5],
  attempt = ARGV[6], handed = 0, json = ARGV[7],
}
local tenant, now = tenant_of(job.member), now_ms()

-- `replaces`: the tenant has no more ready jobs with this one than without.
local function refusal(replaces)
  local limits = limits_of(tenant)
  if limits.off then return 'off' end
  if limits.pending and not replaces then
    local ready = redis.call('ZLEXCOUNT', READY, '[' .. tenant .. '/', '(' .. tenant .. '0')
    if ready >= limits.pending then return 'max_pending' end
  end
  return used_up(tenant, limits, now)
end

if redis.call('ZSCORE', RUNNING, attempt_of(job)) then return {'stale'} end

local old, place = ready_job(job.member)
if old and old.incarnation == job.incarnation and compare(job, old) <= 0 then return {'stale'} end

local reason = refusal(old)
if reason then return {'refused', reason} end

if old then displace(old, place) end
put(job, now)
touch(ARGV[8])
return {old and 'replaced' or 'queued'}

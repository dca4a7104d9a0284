-- uses: fleet
-- Puts a claimed job into the ready index. A session has one ready job: of one life of the session the higher
-- (generation, epoch, attempt) stays, of different lives the one that comes later.
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
-- ARGV[9]  ready jobs that the tenant may have, or ''
-- Reply    {queued} | {replaced} | {stale}: not newer than the ready one, or running | {refused, reason}
local job = {
  member = ARGV[1], urgency = ARGV[2], incarnation = ARGV[3], generation = ARGV[4], epoch = ARGV[5],
  attempt = ARGV[6], json = ARGV[7],
}
local tenant, limit = tenant_of(job.member), tonumber(ARGV[9])

if redis.call('ZSCORE', RUNNING, attempt_of(job)) then return {'stale'} end

local old, place = ready_job(job.member)
if old then
  if old.incarnation == job.incarnation and compare(job, old) <= 0 then return {'stale'} end
  redis.call('ZREM', READY, place)
elseif limit and redis.call('ZLEXCOUNT', READY, '[' .. tenant .. '/', '(' .. tenant .. '0') >= limit then
  return {'refused', 'max_pending'}
end

put(job, now_ms())
touch(ARGV[8])
return {old and 'replaced' or 'queued'}

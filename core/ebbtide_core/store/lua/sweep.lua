-- uses: fleet, limits, letters
-- Maintenance: puts jobs of expired leases back with the next attempt number, writes a dead letter for those
-- that lost too many, takes out those that waited too long, forgets what was paid on other days.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  how long a job may be ready before it counts as waiting
-- ARGV[2]  attempts that a job may have; one that was handed back does not count
-- ARGV[3]  how long a job may wait
-- ARGV[4]  lifetime of the index
-- Reply    jobs {urgency, attempt, json}: put back, by lease; lost their last lease, by lease; waited too
--          long, oldest first; then how many are waiting, and how many run
local now, attempts = now_ms(), tonumber(ARGV[2])
local put_back, lost = {}, {}

local function put_back_unless_overtaken(job)
  job.attempt = whole(job.attempt + 1)
  if not makes_room(job) then return end
  put(job, now)
  put_back[#put_back + 1] = job
end

local function give_up(job)
  write_letter(job, 'lease_lost_too_often', now)
  lost[#lost + 1] = job
end

-- Returns whether the day is a new one.
local function forget_other_days()
  local today = day_of(now)
  if redis.call('HGET', META, 'day') == today then return false end
  redis.call('HSET', META, 'day', today)
  for _, tenant in ipairs(redis.call('HKEYS', SPENT)) do
    local tokens, micros = spent_today(tenant, now)
    if tokens == 0 and micros == 0 then redis.call('HDEL', SPENT, tenant) end
  end
  return true
end

local expired = redis.call('ZRANGEBYSCORE', RUNNING, '-inf', '(' .. whole(now))
for _, attempt in ipairs(expired) do
  local job = running_job(attempt)
  finish(attempt)
  if job.json then
    if job.attempt + 1 - job.handed >= attempts then give_up(job) else put_back_unless_overtaken(job) end
  end
end

local too_old = pull_older(now - tonumber(ARGV[3]))
local new_day = forget_other_days()
if #expired > 0 or #too_old > 0 or new_day then touch(ARGV[4]) end
return {
  reply_of_all(put_back), reply_of_all(lost), reply_of_all(too_old),
  redis.call('ZCOUNT', SINCE, '-inf', '(' .. whole(now - tonumber(ARGV[1]))), redis.call('ZCARD', RUNNING),
}

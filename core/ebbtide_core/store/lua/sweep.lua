-- uses: fleet
-- Maintenance: puts jobs of expired leases back with the next attempt number, takes out those that waited too
-- long.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  how long a job may be ready before it counts as waiting
-- ARGV[2]  attempts that a job may have
-- ARGV[3]  how long a job may wait
-- ARGV[4]  lifetime of the index
-- Reply    jobs {urgency, attempt, json}: put back, by lease; lost their last lease, by lease; waited too
--          long, oldest first; then how many are waiting, and how many run
local now, attempts = now_ms(), tonumber(ARGV[2])
local put_back, lost = {}, {}

-- An expired job gives way to a ready one of the session that is not behind it.
local function put_back_unless_overtaken(job)
  job.attempt = whole(job.attempt + 1)
  local ready, place = ready_job(job.member)
  if ready then
    if ready.incarnation ~= job.incarnation or compare(job, ready) <= 0 then return end
    redis.call('ZREM', READY, place)
  end
  put(job, now)
  put_back[#put_back + 1] = job
end

local expired = redis.call('ZRANGEBYSCORE', RUNNING, '-inf', '(' .. whole(now))
for _, attempt in ipairs(expired) do
  local job = running_job(attempt)
  finish(attempt)
  if job.json then
    if job.attempt + 1 >= attempts then lost[#lost + 1] = job else put_back_unless_overtaken(job) end
  end
end

local too_old = pull_older(now - tonumber(ARGV[3]))
if #expired > 0 or #too_old > 0 then touch(ARGV[4]) end
return {
  reply_of_all(put_back), reply_of_all(lost), reply_of_all(too_old),
  redis.call('ZCOUNT', SINCE, '-inf', '(' .. whole(now - tonumber(ARGV[1]))), redis.call('ZCARD', RUNNING),
}

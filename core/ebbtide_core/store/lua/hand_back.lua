-- uses: fleet
-- Puts a running attempt back for another worker, where its job stood when it was taken: a worker that stops
-- does so. Its tenant gets the turn back that the job took. Behind the others, if nobody noted where it stood.
--
-- The job goes on under the next attempt number: nothing that the worker said of the old one, and that arrives
-- late, can touch the new one. The number of attempts handed back is kept beside it and counts towards nothing.
--
-- KEYS     as in lib/fleet.lua
-- ARGV[1]  attempt `member incarnation generation epoch attempt`
-- ARGV[2]  worker, percent-encoded
-- Reply    1, also when the job gave way to a ready one of its session; 0: no attempt of this worker
local attempt, now = ARGV[1], now_ms()

-- One more job in a turn at the place of the job's own, unless a whole turn is still before the tenant there.
local function give_turn_back(tenant, turn)
  local at, credit = tonumber(redis.call('ZSCORE', ACTIVE, tenant)), redis.call('HGET', CREDIT, tenant)
  if at <= turn and not credit then return end
  redis.call('ZADD', ACTIVE, whole(math.min(at, turn)), tenant)
  redis.call('HSET', CREDIT, tenant, (credit or 0) + 1)
end

local job = running_job(attempt)
if job.worker ~= ARGV[2] or not finish(attempt) then return 0 end
job.attempt, job.handed = whole(job.attempt + 1), job.handed + 1
if makes_room(job) then
  if job.turn then
    put_in_place(job, now)
    give_turn_back(tenant_of(job.member), job.turn)
  else
    put(job, now)
  end
end
touch()
return 1

-- Dead letters: jobs that were given up.
local LETTERS_KEPT = 1000

local function drop_letter(id)
  redis.call('ZREM', DEAD, id)
  redis.call('HDEL', LETTERS, id)
end

-- Takes the place of an older letter of the same job.
local function write_letter(job, reason, now)
  local id = cjson.decode(job.json).job_id
  redis.call('ZADD', DEAD, now, id)
  redis.call('HSET', LETTERS, id, table.concat({reason, job.member, job.urgency, job.attempt, job.json}, ' '))
  for _, old in ipairs(redis.call('ZRANGE', DEAD, 0, -LETTERS_KEPT - 1)) do drop_letter(old) end
end

-- Returns a letter's reason and job, or nil.
local function read_letter(id)
  local text = redis.call('HGET', LETTERS, id)
  if not text then return nil end
  local job, reason = {}, nil
  reason, job.member, job.urgency, job.attempt, job.json =
    string.match(text, '^([^ ]+) ([^ ]+) (%l+) (%d+) (.*)$')
  return reason, job
end

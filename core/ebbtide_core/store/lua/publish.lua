-- uses: state, breaker, claim, headers
-- Numbers and stores a record, and settles success. The claim is not compared: a late valid summary wins, and
-- whatever claim there is ends.
--
-- KEYS[1]   the session's state
-- KEYS[2]   the record's key
-- KEYS[3]   key of the record that is no longer kept; absent while there is none
-- ARGV[1]   incarnation
-- ARGV[2]   generation
-- ARGV[3]   number of the newest record at the claim
-- ARGV[4]   its body
-- ARGV[5]   position `count:digest`
-- ARGV[6]   body of the record
-- ARGV[7]   the compressed record
-- ARGV[8]   records kept
-- ARGV[9]   lifetime of state and record
-- Reply     {published, version} | {duplicate, version} | {superseded} | {fenced}
local generation, position, body, ttl = tonumber(ARGV[2]), ARGV[5], ARGV[6], ARGV[9]
local version = tonumber(ARGV[3]) + 1

if not load_state() or not current(ARGV[1], generation) then return {'fenced'} end
if newest_is(version, body) then return {'duplicate', version} end
if not newest_is(ARGV[3], ARGV[4]) or reached(generation, position) then return {'superseded'} end

redis.call('SET', KEYS[2], ARGV[7], 'PX', ttl)
if KEYS[3] then redis.call('DEL', KEYS[3]) end
set_header({version = version, generation = generation, position = position, withdrawn = 0, body = body})
for _, header in ipairs(headers()) do
  if header.version <= version - tonumber(ARGV[8]) then drop_header(header) end
end
set('newest', version)
set('newest_body', body)
end_claim()
breaker_reset()
save(ttl)
return {'published', version}

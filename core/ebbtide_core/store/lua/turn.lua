-- uses: state, breaker, claim, headers, view
-- Counts a turn of a host once and returns what the session's state holds. Creates the state when absent.
--
-- KEYS[1]  the session's state
-- ARGV[1]  host
-- ARGV[2]  the host's number of the turn: counted when higher than its last
-- ARGV[3]  incarnation of a state created here
-- ARGV[4]  model
-- ARGV[5]  ratio of the model to store, or ''
-- ARGV[6]  lifetime of the state
-- ARGV[7]  counted turns after which an open breaker becomes half-open
-- ARGV[8]  time after which it does, or ''
-- Reply    the view, as in lib/view.lua, with the ratio of the model
local HOSTS, RATIOS = 16, 16
local host, seq, model, ratio = 'host:' .. ARGV[1], tonumber(ARGV[2]), 'ratio:' .. ARGV[4], ARGV[5]

if not load_state() then create(ARGV[3]) end

local last = state[host] and tonumber(string.match(state[host], '^%d+ (%d+)$'))
local uses = int('uses') + 1
set('uses', uses)
if not last or seq > last then
  set('turns', int('turns') + 1)
  breaker_turn(tonumber(ARGV[7]))
  last = seq
end
local known = state[host]
set(host, string.format('%.0f %.0f', uses, last))
if not known then keep_latest('host:', HOSTS) end

local now = now_ms()
breaker_time(now, tonumber(ARGV[8]))
end_lapsed_claim(now)

if ratio ~= '' then
  known = state[model]
  set(model, string.format('%.0f %s', uses, ratio))
  if not known then keep_latest('ratio:', RATIOS) end
end

save(ARGV[6])

return view(model)

-- uses: state, breaker, claim
-- Begins a new generation: the history that the claim and records stand on was changed. Compare and set.
--
-- KEYS[1]  the session's state
-- ARGV[1]  incarnation seen
-- ARGV[2]  generation seen
-- ARGV[3]  lifetime of the state
-- ARGV[4]  counted turns for which claims are refused after the third fork within ten counted turns
-- Reply    the new generation, or nil: no state, or it is not what was seen
local WINDOW, FORKS = 10, 3

if not load_state() or not current(ARGV[1], ARGV[2]) then return false end

set('gen', int('gen') + 1)
end_claim()

local turns = int('turns')
local recent = {}
for turn in string.gmatch(state.forks or '', '%d+') do
  if tonumber(turn) > turns - WINDOW then recent[#recent + 1] = turn end
end
recent[#recent + 1] = string.format('%.0f', turns)
if #recent >= FORKS then
  set('split_until', turns + tonumber(ARGV[4]))
  recent = {}
end
set('forks', table.concat(recent, ','))

save(ARGV[3])
return int('gen')

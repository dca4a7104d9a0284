-- uses: account
-- Learns what became of a call to a provider.
--
-- KEYS[1]  the account's state
-- ARGV[1]  answered | limited | ramped | trouble | auth | spend_limit
-- ARGV[2]  seconds for which the provider wants to be left alone, or ''
-- ARGV[3]  calls answered before it while the account was free that were not told yet
-- ARGV[4]  lifetime of the state in milliseconds
-- Reply    1: nothing stands in the way of further calls; else 0
local told, retry_after = ARGV[1], tonumber(ARGV[2])
load_account()
count_answered(tonumber(ARGV[3]))

if told == 'answered' then
  count_answered(1)
  gate_answered()
else
  seen_plus(1)
  if CLOSES[told] then
    gate_failed(CLOSES[told], retry_after)
  else
    limit_limited(retry_after or 0, told == 'ramped')
    gate_answered()
  end
end

save_account(ARGV[4])
return is_free() and 1 or 0

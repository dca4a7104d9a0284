-- uses: account
-- Answers a call to a provider that is about to be made.
--
-- KEYS[1]  the account's state
-- ARGV[1]  the call's place, 0 at first
-- ARGV[2]  how many seconds it has waited
-- ARGV[3]  how many more it can wait
-- ARGV[4]  calls answered while the account was free that were not told yet
-- ARGV[5]  lifetime of the state in milliseconds
-- Reply    {free | go | wait | late | blocked, seconds, place, reason of the block or ''}
load_account()
count_answered(tonumber(ARGV[4]))

local function admitted()
  local left = gate_left()
  if left > 0 then return 'blocked', left, 0 end
  if not account.rate then return is_free() and 'free' or 'go', 0, 0 end
  return limit_asked(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))
end

local verdict, seconds, ticket = admitted()
if verdict == 'free' or verdict == 'go' then gate_passed() end
save_account(ARGV[5])
return {verdict, exact(seconds), ticket, verdict == 'blocked' and account.block or ''}

-- uses: account
-- Tells how an account stands, for people.
--
-- KEYS[1]  the account's state
-- Reply    {rate or '', places that have not come due, seconds paused, failures in a row,
--          reason of the block or '', seconds that it stands}
load_account()
if account.rate then limit_flow() end
local waiting = account.rate and math.max(0, num('issued') - math.floor(num('level'))) or 0
return {
  account.rate and exact(account.rate) or '',
  waiting,
  exact(account.rate and math.max(0, num('until') - now) or 0),
  num('failures'),
  account.block or '',
  exact(account.block and math.max(0, num('block_until') - now) or 0),
}

-- uses: state
-- Sets how far hosts may go in the session.
--
-- KEYS[1]  the session's state
-- ARGV[1]  off | shadow | on, or '': as hosts ask
-- Reply    1, or 0: no state
if not load_state() then return 0 end
if ARGV[1] == '' then drop('mode') else set('mode', ARGV[1]) end
save()
return 1

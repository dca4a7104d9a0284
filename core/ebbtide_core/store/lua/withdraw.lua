-- uses: state, headers
-- Marks a kept record as withdrawn: hosts no longer use it. Numbers go on.
--
-- KEYS[1]  the session's state
-- ARGV[1]  version
-- Reply    1, or 0: no such record is kept
local header = load_state() and header_of(ARGV[1])
if not header then return 0 end
header.withdrawn = 1
set_header(header)
save()
return 1

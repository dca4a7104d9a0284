-- The headers of the kept records.
local function header_of(version)
  local text = state['h:' .. version]
  if not text then return nil end
  local generation, position, withdrawn, body = string.match(text, '^(%d+) (%d+:%x+) ([01]) (.*)$')
  return {
    version = tonumber(version), generation = tonumber(generation), position = position,
    withdrawn = tonumber(withdrawn), body = body,
  }
end

local function field_of(header) return string.format('h:%.0f', header.version) end

local function set_header(header)
  local values = {header.generation, header.position, header.withdrawn, header.body}
  set(field_of(header), string.format('%.0f %s %d %s', unpack(values)))
end

local function drop_header(header) drop(field_of(header)) end

-- Oldest first.
local function headers()
  local found = {}
  for field in pairs(state) do
    if string.sub(field, 1, 2) == 'h:' then found[#found + 1] = header_of(string.sub(field, 3)) end
  end
  if #found > 1 then table.sort(found, function(a, b) return a.version < b.version end) end
  return found
end

local function count_of(position) return tonumber(string.match(position, '^%d+')) end

-- Says whether a kept record of the generation stands at the position or beyond, by message count.
local function reached(generation, position)
  for _, header in ipairs(headers()) do
    if header.generation == tonumber(generation) and count_of(header.position) >= count_of(position) then
      return true
    end
  end
  return false
end

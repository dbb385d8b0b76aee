-- Reads the ends of logs.
--
-- KEYS  for each log: its meta
-- Returns for each its epoch and its last offset, both nil if there is no log (or another type in its place), and 1 if
-- Redis may have lost the end of it: then open-2 decides.
--@include generation
local current = generation()
local ends = {}
for i, key in ipairs(KEYS) do
  local found = redis.pcall('HMGET', key, 'e', 'o', 'g')
  ends[3 * i - 2] = found[1] or false
  ends[3 * i - 1] = found[2] or false
  ends[3 * i] = goesOn(found[3], current) and 0 or 1
end
return ends

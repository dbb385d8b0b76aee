-- Reads the ends of logs.
--
-- KEYS  for each log: its meta; then the epoch of empty logs (include/empty.lua)
-- ARGV  1 epoch to begin if another one is needed
-- Returns for each its epoch and its last offset, both nil if another type is in its place, and 1 if Redis may have lost
-- the end of it: then open.lua decides.
--@include generation
--@include empty
local current = generation()
local ends = {}
local empty
for i = 1, #KEYS - 1 do
  local found = redis.pcall('HMGET', KEYS[i], 'e', 'o', 'g')
  local e, o = found[1], found[2]
  if not found.err and not (e and o) then
    empty = empty or emptyEpoch(KEYS[#KEYS], current, ARGV[1])
    e, o = empty, '0'
  end
  ends[3 * i - 2] = e or false
  ends[3 * i - 1] = o or false
  ends[3 * i] = goesOn(found[3], current) and 0 or 1
end
return ends

-- The ends of logs.
--
-- KEYS  for each log: its meta
-- Returns for each its epoch and its last offset, both nil if there is no log (or something else in its place).
local ends = {}
for i, key in ipairs(KEYS) do
  local found = redis.pcall('HMGET', key, 'e', 'o')
  ends[2 * i - 1] = found[1] or false
  ends[2 * i] = found[2] or false
end
return ends

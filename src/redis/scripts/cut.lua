-- Removes the records of a log up to an offset: a snapshot contains them.
--
-- KEYS  1 log  2 meta  3 newest (publish.lua)
-- ARGV  1 epoch  2 offset
-- Returns epoch and last offset, and the number of removed records; -1 if the log has another epoch or does not reach
-- that far; nothing if there is no log, or Redis may have lost the end of it.
--@include generation
--@include counted
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g', 'x')
if not found[1] or not found[2] or not goesOn(found[3], generation()) then return {} end
if found[1] ~= ARGV[1] or tonumber(ARGV[2]) > tonumber(found[2]) then return {found[1], found[2], -1} end
local log, newest, last, upTo = KEYS[1], KEYS[3], tonumber(found[2]), tonumber(ARGV[2])
local base = readCounts(log, found[4], found[1], last)
local removed = redis.call('XTRIM', log, 'MINID', string.format('%.0f-0', upTo + 1))
if base and upTo > base then
  local holes = last - upTo - redis.call('XLEN', log)
  redis.call('HSET', KEYS[2], 'x', string.format('%s %.0f %.0f ', found[1], upTo, holes))
  local all = redis.call('HGETALL', newest)
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) <= upTo then redis.call('HDEL', newest, all[i]) end
  end
end
return {found[1], found[2], removed}

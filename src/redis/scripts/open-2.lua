-- The end of a document's log; a document that has none gets an epoch, so that whoever joins it can resume later.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch to begin if there is no log, or Redis may have lost the end of it  2 seconds to keep the meta of a log without records  3 of one with records
--       4 the move of its slot, see goesOn; '' none, '?' ask
-- Returns epoch, last offset, and 1 where Redis may have lost records and another epoch has begun.
--@include generation
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g')
local current = generation()
if found[1] and found[2] then
  local lost = not goesOn(found[3], current, ARGV[4])
  if lost then
    if ARGV[4] == '?' then return asksForMove(found[3], current) end
    redis.call('DEL', KEYS[1])
    found[1], found[2] = ARGV[1], '0'
    redis.call('HSET', KEYS[2], 'e', ARGV[1], 'o', '0', 'g', current)
  elseif found[3] ~= current then
    redis.call('HSET', KEYS[2], 'g', current)
  end
  redis.call('EXPIRE', KEYS[2], found[2] == '0' and ARGV[2] or ARGV[3], 'GT')
  return {found[1], found[2], lost and 1 or 0}
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'e', ARGV[1], 'o', '0', 'g', current)
redis.call('EXPIRE', KEYS[2], ARGV[2])
return {ARGV[1], '0', 0}

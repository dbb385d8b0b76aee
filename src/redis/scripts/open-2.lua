-- The end of a document's log; a document that has none gets an epoch, so that whoever joins it can resume later.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch to begin if there is no log  2 seconds to keep the meta of a log without records  3 of one with records
-- Returns epoch, last offset.
local found = redis.call('HMGET', KEYS[2], 'e', 'o')
if found[1] and found[2] then
  redis.call('EXPIRE', KEYS[2], found[2] == '0' and ARGV[2] or ARGV[3], 'GT')
  return found
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'e', ARGV[1], 'o', '0')
redis.call('EXPIRE', KEYS[2], ARGV[2])
return {ARGV[1], '0'}

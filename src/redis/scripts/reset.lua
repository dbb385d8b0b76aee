-- Begins another epoch of a document, unless another process has done so already. Sequences of sources stay.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch to replace  2 epoch to begin  3 seconds to keep it if the meta was lost
-- Returns 1 if this call began it.
--@include generation
local found = redis.call('HGET', KEYS[2], 'e')
if found and found ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'e', ARGV[2], 'o', '0', 'g', generation())
redis.call('HDEL', KEYS[2], 'k')
if not found then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return 1

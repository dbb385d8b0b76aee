-- Begins another epoch of a document, unless another process has done so already. Sequences of sources stay.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch to replace  2 epoch to begin
-- Returns 1 if this call began it.
--@include generation
if redis.call('HGET', KEYS[2], 'e') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'e', ARGV[2], 'o', '0', 'g', generation())
redis.call('HDEL', KEYS[2], 'k')
return 1

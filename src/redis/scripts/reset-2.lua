-- Begins another epoch of a document, unless somebody else has done so already. What is known of sources stays.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch that cannot be trusted any more  2 epoch to begin
-- Returns 1 if it was this call that did it.
--@include generation
if redis.call('HGET', KEYS[2], 'e') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'e', ARGV[2], 'o', '0', 'g', generation())
redis.call('HDEL', KEYS[2], 'k')
return 1

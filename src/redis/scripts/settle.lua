-- Ends a request that request.lua began.
--
-- KEYS  1 request
-- ARGV  1 its response; '' if it failed: the next request with this key is a retry, unless another process has begun it
--         again  2 fingerprint  3 seconds to keep it  4 calling process
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'f', ARGV[2], 'a', ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
elseif redis.call('HGET', KEYS[1], 'p') == ARGV[4] then
  redis.call('HSET', KEYS[1], 'u', '0')
end
return 1

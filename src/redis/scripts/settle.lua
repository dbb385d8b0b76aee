-- Ends a request that request.lua began.
--
-- KEYS  1 request
-- ARGV  1 its response; '' if it failed: the next request with this key is a retry  2 fingerprint  3 seconds to keep it
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'f', ARGV[2], 'a', ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'u', '0')
end
return 1

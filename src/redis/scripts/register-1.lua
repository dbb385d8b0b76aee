-- Notes that a worker has connections of a user, until the note expires.
--
-- KEYS  1 workers of the user (sorted set: worker number by the second at which it expires)
-- ARGV  1 worker number  2 seconds until it expires
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1

-- Stores a kick or revoke of a user, and reads which workers have connections of the user.
--
-- KEYS  1 the user's workers (sorted set: worker number by the second at which the registration expires)
--       2 orders about the user (sorted set: name of the order by the time of the last one, ms)
-- ARGV  1 name of the order  2 seconds to keep orders  3 maximum number of orders  4 name that replaces the oldest
-- Returns the time of the order, ms, and the worker numbers.
local workers, orders = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('ZADD', orders, 'GT', now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', orders, '-inf', string.format('%.0f', now - ARGV[2] * 1000))
if redis.call('ZCARD', orders) > tonumber(ARGV[3]) then
  local oldest = redis.call('ZPOPMIN', orders, 2)
  redis.call('ZADD', orders, oldest[4], ARGV[4])
end
redis.call('EXPIRE', orders, ARGV[2])
return { now, unpack(redis.call('ZRANGE', workers, 0, -1)) }

-- Registers users that have connections to a worker, and reads the orders about them. A registration expires unless it
-- is renewed.
--
-- KEYS  two for each user: its workers (sorted set: worker number by the second at which the registration expires), and
--       orders about it (sorted set, see order.lua)
-- ARGV  1 worker number  2 seconds until a registration expires  3 a character for each user: '+' register, '-' remove
-- Returns for each user with '+' and with orders: its index, from 0, then names and times of the orders.
local now, ops = tonumber(redis.call('TIME')[1]), ARGV[3]
local ordered = {}
for i = 1, #ops do
  local key, orders = KEYS[2 * i - 1], KEYS[2 * i]
  if string.byte(ops, i) == 43 then
    redis.call('ZADD', key, now + ARGV[2], ARGV[1])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    redis.call('EXPIRE', key, ARGV[2])
    local found = redis.call('ZRANGE', orders, 0, -1, 'WITHSCORES')
    if #found > 0 then ordered[#ordered + 1] = { i - 1, unpack(found) } end
  else
    redis.call('ZREM', key, ARGV[1])
  end
end
return ordered

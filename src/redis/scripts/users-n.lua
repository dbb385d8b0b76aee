-- Notes which users a worker has connections of. A note expires unless it is renewed.
--
-- KEYS  for each user: its workers (sorted set: worker number by the second at which the note expires)
-- ARGV  1 worker number  2 seconds until a note expires  3 a character for each user: '+' it has some, '-' it has none any more
local now, ops = tonumber(redis.call('TIME')[1]), ARGV[3]
for i, key in ipairs(KEYS) do
  if string.byte(ops, i) == 43 then
    redis.call('ZADD', key, now + ARGV[2], ARGV[1])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    redis.call('EXPIRE', key, ARGV[2])
  else
    redis.call('ZREM', key, ARGV[1])
  end
end
return #KEYS

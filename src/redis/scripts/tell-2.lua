-- Tells a worker an order, and keeps it until the worker has taken it from here: whoever does not hear it reads it.
--
-- KEYS  1 orders that the worker has not taken (hash, by id)  2 channel of the worker (sharded)
-- ARGV  1 id  2 message  3 seconds that it is kept  4 how many are kept  5 '1' the first time, '' when it is told again
-- Returns how many heard it, -1 if too many orders are kept for the worker. Told again, an order that was taken has been heard.
if ARGV[5] == '' then
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 1 end
elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return -1
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return redis.call('SPUBLISH', KEYS[2], ARGV[2])

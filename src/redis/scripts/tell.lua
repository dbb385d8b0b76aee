-- Publishes an order to a worker, and keeps it until the worker has read it here: a worker that misses it reads it
-- later.
--
-- KEYS  1 orders that the worker has not read (hash, by id)  2 channel of the worker (sharded)
-- ARGV  1 id  2 message  3 seconds to keep it  4 maximum number of kept orders  5 '1' the first time, '' repeated
-- Returns the number of receivers, -1 if too many orders are kept for the worker; repeated, 1 for an order that is no
-- longer kept: its outcome is to be read.
if ARGV[5] == '' then
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 1 end
elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return -1
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return redis.call('SPUBLISH', KEYS[2], ARGV[2])

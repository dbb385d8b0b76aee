-- Reads what became of an order.
--
-- KEYS  1 orders that the worker has not read (hash, by id)  2 the worker's report of this order
-- ARGV  1 id
-- Returns the number of connections that the worker has reported; -1 if the worker has not carried it out; -2 if it is
-- not kept either: Redis has lost it, or another process has the number of the worker.
local reported = redis.call('GET', KEYS[2])
if reported then return tonumber(reported) end
return redis.call('HEXISTS', KEYS[1], ARGV[1]) - 2

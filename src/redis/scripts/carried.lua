-- A worker reports an order that it has carried out; it is not kept for the worker any longer.
--
-- KEYS  1 orders that the worker has not read (hash, by id)  2 the worker's report of this order
-- ARGV  1 id  2 number of connections  3 seconds to keep the report
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])

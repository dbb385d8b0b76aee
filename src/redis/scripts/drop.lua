-- Drops the orders of a worker that does not read them, and leaves a mark: if it continues after all, it has missed some.
--
-- KEYS  1 orders that the worker has not read (hash, by id)
-- ARGV  1 id of the mark  2 seconds to keep it
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], ARGV[1], '')
return redis.call('EXPIRE', KEYS[1], ARGV[2])

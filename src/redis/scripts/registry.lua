-- Reads how complete Redis' data about the workers is.
-- KEYS  1 name of this data about the workers  2 incarnation of each number that has one (hash)
--       3 numbers whose workers register their users again (hash)
-- Returns the name, '' without one, the number of workers, and how many of them register their users again.
return { redis.call('GET', KEYS[1]) or '', redis.call('HLEN', KEYS[2]), redis.call('HLEN', KEYS[3]) }

-- Reads how complete Redis' data about the workers is.
-- KEYS  1 name of this data about the workers  2 incarnation of each number that has one (hash)
--       3 numbers whose workers register their users again (hash)
--       4 exists while this data may lack workers that are alive
-- ARGV  1 name that the caller knows, '' to get the workers in any case
-- Returns the name, '' without one; how many workers register their users again; 1 if workers may be missing; and, if
-- the name is another one, number and incarnation of each worker.
--@include data_name
local name = dataName(KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return {
  name, redis.call('HLEN', KEYS[3]), redis.call('EXISTS', KEYS[4]), name == ARGV[1] and {} or redis.call('HGETALL', KEYS[2])
}

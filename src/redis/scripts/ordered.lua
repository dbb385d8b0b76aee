-- Notes the time of the newest order about a user that a worker knows. Redis may have lost it: then, after a step of the
-- clock back, an order would get an earlier time than the worker knows, and have no effect there.
--
-- KEYS  1 time of the last order of all about the user, ms
-- ARGV  1 the time that the worker knows, ms  2 seconds to keep it
-- Returns 1 if Redis did not have it.
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1

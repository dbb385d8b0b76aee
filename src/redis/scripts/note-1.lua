-- Notes the number of an entry of a client's queue as accepted, unless a later one is.
--
-- KEYS  1 mark of the queue (string)
-- ARGV  1 number  2 seconds to keep it
-- Returns 1 if it was noted.
if (tonumber(redis.call('GET', KEYS[1])) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1

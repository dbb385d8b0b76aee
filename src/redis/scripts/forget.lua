-- Deletes a request that request.lua began, and that published nothing. It stays if it has a response, or if another
-- process has begun it again.
--
-- KEYS  1 request
-- ARGV  1 calling process
-- Returns 1 if it is deleted.
local found = redis.call('HMGET', KEYS[1], 'p', 'a')
if found[1] ~= ARGV[1] or found[2] then return 0 end
return redis.call('DEL', KEYS[1])

-- Reads the last owner of the number of a slot.
-- KEYS  1 owner of each number (hash, JSON)  2 number of each slot (hash)
-- ARGV  1 slot
-- Returns the owner as JSON, or nil.
local number = redis.call('HGET', KEYS[2], ARGV[1])
if not number then return nil end
return redis.call('HGET', KEYS[1], number)

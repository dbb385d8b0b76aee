-- Reads the owner of a worker number.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)
-- ARGV  1 number
-- Returns the owner as JSON, or nil without an owner or with an expired lease.
local expiry = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
local time = redis.call('TIME')
if not expiry or expiry <= time[1] * 1000 + math.floor(time[2] / 1000) then return nil end
return redis.call('HGET', KEYS[2], ARGV[1])

-- Reads the owner of a worker number.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)
--       3 time of the last watch, ms
-- ARGV  1 number
-- Returns the owner as JSON, or nil without an owner or with an expired lease.
--@include lease_time
local expiry = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if not expiry or expiry <= leaseTime(KEYS[3]) then return nil end
return redis.call('HGET', KEYS[2], ARGV[1])

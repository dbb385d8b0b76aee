-- Whether the lease of a worker number is valid.
-- KEYS  1 expiry of each number (sorted set, ms)  2 time of the last watch, ms
-- ARGV  1 number
--@include lease_time
local expiry = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not expiry then return 0 end
return tonumber(expiry) > leaseTime(KEYS[2]) and 1 or 0

-- Whether the lease of a worker number is valid.
-- KEYS  1 expiry of each number (sorted set, ms)
-- ARGV  1 number
local expiry = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not expiry then return 0 end
local time = redis.call('TIME')
return tonumber(expiry) > time[1] * 1000 + time[2] / 1000 and 1 or 0

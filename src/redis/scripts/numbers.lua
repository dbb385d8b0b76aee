-- Reads the leased worker numbers.
-- KEYS  1 expiry of each number (sorted set, ms)  2 time of the last watch, ms
-- Returns the numbers whose lease is valid.
--@include lease_time
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', leaseTime(KEYS[2])), '+inf')

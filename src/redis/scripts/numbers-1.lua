-- Reads the leased worker numbers.
-- KEYS  1 expiry of each number (sorted set, ms)
-- Returns the numbers whose lease is valid.
local time = redis.call('TIME')
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), '+inf')

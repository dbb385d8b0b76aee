-- Keeps a worker number for another lease time, and the secret that all workers share.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)  3 the shared secret
-- ARGV  1 number  2 token of the owner  3 lease time, ms; 0: give the number back
--       4 owner as JSON, to be written again where Redis has lost its data  5 a secret for when there is none
-- Returns the shared secret, or '' when somebody else has the number now.
local owner = redis.call('HGET', KEYS[2], ARGV[1])
if owner and cjson.decode(owner).token ~= ARGV[2] then return '' end
if tonumber(ARGV[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  return ARGV[5]
end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])), ARGV[1])
if not owner then redis.call('HSET', KEYS[2], ARGV[1], ARGV[4]) end
redis.call('SET', KEYS[3], ARGV[5], 'NX')
return redis.call('GET', KEYS[3])

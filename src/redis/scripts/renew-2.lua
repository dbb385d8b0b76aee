-- Keeps a worker number for another lease time.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)
-- ARGV  1 number  2 token of the owner  3 lease time, ms; 0: give it back
-- Returns 1, or 0 when somebody else has the number now.
local owner = redis.call('HGET', KEYS[2], ARGV[1])
if not owner or cjson.decode(owner).token ~= ARGV[2] then return 0 end
if tonumber(ARGV[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])), ARGV[1])
end
return 1

-- Reports of processes for the overview: writes or removes one, and removes those that were not written again.
-- KEYS  1 reports (hash, by id)  2 ids by the time of the report (sorted set, ms)
-- ARGV  1 life of a report, ms  2 id  3 report; empty: remove it. Without 2 and 3: read
-- Returns all reports if it reads, else none.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] and ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
  redis.call('ZADD', KEYS[2], now, ARGV[2])
elseif ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[2])
  redis.call('ZREM', KEYS[2], ARGV[2])
end
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1], 'LIMIT', 0, 1000)
if #old > 0 then
  redis.call('HDEL', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
end
if ARGV[2] then return {} end
return redis.call('HVALS', KEYS[1])

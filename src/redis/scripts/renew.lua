-- Renews the lease of a worker number, and keeps the secret that all workers share.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)  3 the shared secret
--       4 incarnation of each number that has one (hash)  5 incarnations that have ended themselves (list)
--       6 numbers whose workers register their users again (hash)  7 name of this data about the workers
--       8 time of the last watch, ms  9 exists while this data may lack workers that are alive
--       10 incarnations that have ended (sorted set, ms)
-- ARGV  1 number  2 token of the owner  3 lease time, ms; 0: release the number
--       4 owner as JSON, written again after Redis has lost its data  5 a secret, used if there is none  6 incarnation
--       7 '1' the worker registers its users again, '0' it does not, '?' it does if Redis may have lost them
--       8 name of the data with which the worker has registered them, '' before the first renewal
-- Returns the shared secret, or '' if another process has the number now; the incarnation, a new one if the lease had
-- ended; 1 if Redis may have lost data of the worker; the time, ms; and the name of the data. The name says it, not only
-- the missing owner: the answer to the renewal that found no owner may be late, or lost.
--@include lease_time
--@include data_name
local time = redis.call('TIME')
local wall = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local owner = redis.call('HGET', KEYS[2], ARGV[1])
if owner and cjson.decode(owner).token ~= ARGV[2] then return { '', ARGV[6], 0, wall, '' } end
local incarnation = ARGV[6]
if tonumber(ARGV[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[6], ARGV[1])
  if redis.call('HGET', KEYS[4], ARGV[1]) == incarnation then
    redis.call('HDEL', KEYS[4], ARGV[1])
    redis.call('RPUSH', KEYS[5], ARGV[1] .. '.' .. incarnation)
  end
  return { ARGV[5], incarnation, 0, wall, '' }
end
local now = leaseTime(KEYS[8])
local name = dataName(KEYS[7], KEYS[4], KEYS[6], KEYS[9], ARGV[2] .. wall)
-- Without an owner either the data is lost, or another process has had the number since this lease ended.
local hasEnded = not owner and (ARGV[8] == name or redis.call('ZSCORE', KEYS[10], ARGV[1] .. '.' .. incarnation))
if not owner then redis.call('HSET', KEYS[2], ARGV[1], ARGV[4]) end
if owner or hasEnded then
  incarnation = redis.call('HGET', KEYS[4], ARGV[1]) or string.format('%.0f', math.max(now, incarnation + 1))
end
redis.call('HSET', KEYS[4], ARGV[1], incarnation)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[3])), ARGV[1])
redis.call('SET', KEYS[3], ARGV[5], 'NX')
local lost = (not owner and not hasEnded) or (ARGV[8] ~= '' and ARGV[8] ~= name)
if lost then doubt(KEYS[9], 13) end
if ARGV[7] == '1' or (ARGV[7] == '?' and lost) then
  redis.call('HSET', KEYS[6], ARGV[1], incarnation)
else
  redis.call('HDEL', KEYS[6], ARGV[1])
end
return { redis.call('GET', KEYS[3]), incarnation, lost and 1 or 0, wall, name }

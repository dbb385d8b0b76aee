-- Ends the workers whose lease has run out, tells which have ended, and hands out what is to be cleaned up after them.
--
-- A lease that ran out while nobody watched may belong to a worker that lives and could not renew it either (Redis was away):
-- all get another lease time then.
--
-- KEYS  1 expiry of each number (sorted set, ms)  2 incarnation of each number that has one (hash)
--       3 incarnations that have ended by themselves (list)  4 ended ones (sorted set, ms, each at a time of its own)
--       5 ended ones that are not cleaned up (sorted set, by when somebody may begin, ms)  6 when somebody last watched, ms
-- ARGV  1 tell those that ended after this time, ms; '' for none  2 lease time, ms  3 a pause longer than this, ms, means that nobody watched
--       4 how long after its last sign of life what a worker held is kept, ms  5 how long a claim to
--       clean up lasts, ms  6 how many claims are wanted  7 how long ended ones are told, ms  8 one that the caller has claimed and works on, or ''
-- Returns the time of the newest one that has ended, ms until the next lease runs out (-1: there is none), those that ended, those to be cleaned up.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function (number) return string.format('%.0f', number) end

local watched = tonumber(redis.call('GET', KEYS[6]) or 0)
redis.call('SET', KEYS[6], text(now))
if now - watched > tonumber(ARGV[3]) then
  for _, number in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('ZADD', KEYS[1], text(now + ARGV[2]), number)
  end
end

local newest = tonumber(redis.call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0)
local function ended (incarnation, cleanAt)
  newest = math.max(now, newest + 1)
  redis.call('ZADD', KEYS[4], text(newest), incarnation)
  redis.call('ZADD', KEYS[5], text(cleanAt), incarnation)
end
for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now))) do
  local incarnation = redis.call('HGET', KEYS[2], number)
  local renewed = redis.call('ZSCORE', KEYS[1], number) - ARGV[2]
  redis.call('ZREM', KEYS[1], number)
  redis.call('HDEL', KEYS[2], number)
  if incarnation then ended(number .. '.' .. incarnation, math.max(now, renewed + ARGV[4])) end
end
local incarnation = redis.call('LPOP', KEYS[3])
while incarnation do
  ended(incarnation, now + ARGV[4])
  incarnation = redis.call('LPOP', KEYS[3])
end

redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', text(now - ARGV[7]))
local told = {}
if ARGV[1] ~= '' then told = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. ARGV[1], '+inf') end
if ARGV[8] ~= '' then redis.call('ZADD', KEYS[5], 'XX', text(now + ARGV[5]), ARGV[8]) end
local claimed = {}
if tonumber(ARGV[6]) > 0 then
  claimed = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', text(now), 'LIMIT', 0, ARGV[6])
  for _, unclean in ipairs(claimed) do redis.call('ZADD', KEYS[5], text(now + ARGV[5]), unclean) end
end
local nextExpiry = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return { text(newest), nextExpiry and math.max(0, nextExpiry - now) or -1, told, claimed }

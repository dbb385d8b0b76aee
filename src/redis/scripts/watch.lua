-- Ends the workers whose lease has expired, returns those that have ended, and assigns cleanups to the caller.
--
-- A lease that expired without a watcher may belong to a live worker that could not renew it (Redis was unavailable):
-- in this case all leases are extended by another lease time, and graces and claims by the pause. The wall clock may have
-- been set forward as well, which looks the same. When it was set back, nothing may last longer than if it began now.
--
-- KEYS  1 expiry of each number (sorted set, ms)  2 incarnation of each number that has one (hash)
--       3 incarnations that have ended themselves (list)  4 ended ones (sorted set, ms, each at a time of its own)
--       5 ended ones that are not cleaned up (sorted set, by the time at which cleaning may begin, ms): each one as
--         itself, and with '~' behind it for the second time
--       6 time of the last watch, ms  7 numbers whose workers register their users again (hash)
-- ARGV  1 return those that ended after this time, ms; '' for none  2 lease time, ms
--       3 longest pause between two watches, ms; after a longer one leases may have expired without a watcher
--       4 how long the state of a worker is kept after its last renewal, ms  5 how long a claim to clean up lasts, ms
--       6 maximum number of claims to return  7 how long ended ones are returned, ms
--       8 the claim that the caller works on, or ''  9 time from the first cleanup to the second, ms
-- Returns the time of the newest end, ms until the next lease expires (-1: there is none), those that ended, those that
-- the caller has to clean up.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function (number) return string.format('%.0f', number) end

local watched = tonumber(redis.call('GET', KEYS[6]) or 0)
redis.call('SET', KEYS[6], text(now))
local function scores (key, least, change)
  local found = redis.call('ZRANGEBYSCORE', key, least, '+inf', 'WITHSCORES')
  for i = 1, #found, 2 do redis.call('ZADD', key, text(change(tonumber(found[i + 1]))), found[i]) end
end
if now < watched then
  scores(KEYS[1], text(now + ARGV[2]), function () return now + ARGV[2] end)
  local longest = now + math.max(tonumber(ARGV[4]), tonumber(ARGV[5]))
  scores(KEYS[5], text(longest), function () return longest end)
end
if now - watched > tonumber(ARGV[3]) then
  if watched > 0 then scores(KEYS[5], text(watched), function (score) return score + now - watched end) end
  for _, number in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('ZADD', KEYS[1], text(now + ARGV[2]), number)
  end
end

local newest = tonumber(redis.call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0)
local function ended (incarnation, cleanAt)
  newest = math.max(now, newest + 1)
  redis.call('ZADD', KEYS[4], text(newest), incarnation)
  redis.call('ZADD', KEYS[5], text(cleanAt), incarnation, text(cleanAt + ARGV[9]), incarnation .. '~')
end
for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now))) do
  local incarnation = redis.call('HGET', KEYS[2], number)
  local renewed = redis.call('ZSCORE', KEYS[1], number) - ARGV[2]
  redis.call('ZREM', KEYS[1], number)
  redis.call('HDEL', KEYS[2], number)
  redis.call('HDEL', KEYS[7], number)
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

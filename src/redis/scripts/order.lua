-- Stores a kick, revoke or restore of a user (log/bus/orders.js has the names), and reads which workers have connections of
-- the user.
--
-- KEYS  1 the user's workers (sorted set: worker number by the second at which the registration expires)
--       2 orders about the user (sorted set: name of the order by the time of the last one, ms; of orders with a time
--         of their own: by their end)
--       3 time of the last order of all, ms
-- ARGV  1 name of the order  2 seconds to keep orders  3 maximum number of orders  4 name that replaces the oldest
--       5 seconds until the order ends, '' without an end of its own  6 time that an earlier try has got, ''  7 name of
--       what takes it back, ''  8 … names of orders that this one takes back
-- Returns the time of the order, ms, and the worker numbers.
local workers, orders = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local wall = time[1] * 1000 + math.floor(time[2] / 1000)

-- The time of an order is also its number: workers carry out only an order that is newer than those they know. So it
-- grows also when the clock was set back.
local last, lasting = tonumber(redis.call('GET', KEYS[3]) or 0), (tonumber(ARGV[5]) or 0) * 1000
local ms = math.max(wall, last + 1)

-- A retry keeps the time of the earlier try, unless Redis has lost that: tokens and connections since then are newer.
local earlier = tonumber(ARGV[6])
local function reaches(name, time) return tonumber(redis.call('ZSCORE', orders, name) or 0) >= time end
if earlier and (reaches(ARGV[1], earlier + lasting) or reaches(ARGV[7], earlier)) then
  ms = earlier
else
  for i = 8, #ARGV do redis.call('ZREM', orders, ARGV[i]) end
  redis.call('ZADD', orders, 'GT', string.format('%.0f', ms + lasting), ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', orders, '-inf', string.format('%.0f', ms - ARGV[2] * 1000))

local excess = redis.call('ZCARD', orders) - ARGV[3]
if excess > 0 then
  local every = tonumber(redis.call('ZSCORE', orders, ARGV[4]) or 0)
  redis.call('ZREM', orders, ARGV[4])
  while redis.call('ZCARD', orders) + (every > 0 and 1 or 0) > tonumber(ARGV[3]) do
    local oldest = redis.call('ZPOPMIN', orders)
    local kind = string.sub(oldest[1], 1, 1)
    -- one that has not ended counts as a revoke of now
    if kind == 'r' or kind == 'b' then every = math.max(every, math.min(tonumber(oldest[2]), ms)) end
  end
  if every > 0 then redis.call('ZADD', orders, string.format('%.0f', every), ARGV[4]) end
end

local kept = tonumber(ARGV[2])
local latest = redis.call('ZRANGE', orders, -1, -1, 'WITHSCORES')
if latest[2] then kept = math.max(kept, math.ceil((latest[2] - wall) / 1000)) end
redis.call('EXPIRE', orders, string.format('%.0f', kept))
redis.call('SET', KEYS[3], string.format('%.0f', math.max(ms, last)), 'EX', string.format('%.0f', kept))
return { string.format('%.0f', ms), unpack(redis.call('ZRANGE', workers, 0, -1)) }

-- What a process uses of the budgets of tenants, and what it may use: connections, and tokens of rates. Processes whose
-- lease has ended use nothing any more.
--
-- KEYS  1 processes by the time of their last report, ms  2 sums by budget (hash)  3 tokens by budget (hash:
--       "<tokens> <ms>")  4 what this process uses, by budget (hash)
-- ARGV  1 process  2 lease, ms  3 seconds to keep all of it, then for each budget:
--       name (`c` connections, `r` a rate, then the tenant), limit, level (connections; demand per second),
--       connections or tokens wanted (negative: given back).
--       Without budgets: the process ends.
-- Returns the number of processes, and for each budget what is given, and the sum of all levels.
--@include start
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function set (key, field, value)
  if value > -0.001 and value < 0.001 then redis.call('HDEL', key, field)
  else redis.call('HSET', key, field, string.format('%.3f', value)) end
end

local function change (field, amount)
  local sum = tonumber(redis.call('HGET', KEYS[2], field) or '0') + amount
  set(KEYS[2], field, sum)
  return sum
end

local function drop (id, key)
  local levels = redis.call('HGETALL', key)
  for i = 1, #levels, 2 do change(levels[i], -tonumber(levels[i + 1])) end
  redis.call('DEL', key)
  redis.call('ZREM', KEYS[1], id)
end

if not ARGV[4] then
  drop(ARGV[1], KEYS[4])
  return {}
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
-- the clock of Redis was set back
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'LIMIT', 0, 100)) do
  redis.call('ZADD', KEYS[1], now, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2], 'LIMIT', 0, 10)) do
  drop(id, start() .. '{tenants}:of:' .. id)
end

local function tokensOf (field, limit)
  local tokens, at = string.match(redis.call('HGET', KEYS[3], field) or '', '^(%S+) (%S+)$')
  if not tokens then return limit end
  return math.min(limit, tonumber(tokens) + limit * math.max(0, now - tonumber(at)) / 1000)
end

local answer = {string.format('%.0f', redis.call('ZCARD', KEYS[1]))}
for i = 4, #ARGV, 4 do
  local field, limit, level, want = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local sum = change(field, level - tonumber(redis.call('HGET', KEYS[4], field) or '0'))
  local given
  if string.sub(field, 1, 1) == 'c' then
    given = math.max(0, math.min(want, limit - sum))
    level = level + given
    if given > 0 then change(field, given) end
  else
    local tokens = tokensOf(field, limit)
    given = math.min(want, math.max(0, tokens))
    -- the others have a right to their part of what is left
    if given > 0 and sum > level then given = math.min(given, tokens * level / sum) end
    redis.call('HSET', KEYS[3], field, string.format('%.3f', math.min(limit, tokens - given)) .. ' ' .. string.format('%.0f', now))
  end
  set(KEYS[4], field, level)
  answer[#answer + 1] = string.format('%.3f', given)
  answer[#answer + 1] = string.format('%.3f', sum)
end
for i = 1, 4 do redis.call('EXPIRE', KEYS[i], ARGV[3]) end
return answer

-- Leases a worker number to a process: the previous number of its slot, otherwise the lowest free one that no other slot
-- has had a moment ago: its process may be restarting.
-- KEYS  1 expiry of each number (sorted set, ms)  2 owner of each number (hash, JSON)  3 number of each slot (hash)
--       4 incarnation of each number that has one (hash)  5 incarnations that have ended themselves (list)
--       6 ended ones (sorted set, ms)  7 time of the last watch, ms
--       8 numbers whose workers register their users again (hash)
-- ARGV  1 slot  2 owner as JSON, with its token  3 lease time, ms  4 total of worker numbers
--       5 token of an owner that is known to be dead, or ''  6 how long a number is kept for its slot, ms
-- Returns the number and its incarnation, or -1 if all are taken.
--@include lease_time
local now = leaseTime(KEYS[7])

-- Free: without an owner, with an expired lease, or with a dead owner.
local function free (number)
  local owner = redis.call('HGET', KEYS[2], number)
  if not owner or cjson.decode(owner).token == ARGV[5] then return true end
  return (tonumber(redis.call('ZSCORE', KEYS[1], number)) or 0) <= now
end

local number = tonumber(redis.call('HGET', KEYS[3], ARGV[1]))
if number then
  local owner = redis.call('HGET', KEYS[2], number)
  local others = owner and cjson.decode(owner).slot ~= ARGV[1]
  if others or not free(number) then number = nil end
end

-- The slots that had each number last.
local slots = {}
local all = redis.call('HGETALL', KEYS[3])
for i = 1, #all, 2 do
  local had = tonumber(all[i + 1])
  slots[had] = slots[had] or {}
  table.insert(slots[had], all[i])
end

if not number then
  local live, kept = {}, {}
  for _, taken in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf')) do
    live[tonumber(taken)] = true
  end
  local function keep (incarnations)
    for _, name in ipairs(incarnations) do
      local ended = tonumber(string.match(name, '^%d+'))
      kept[ended] = slots[ended] ~= nil
    end
  end
  keep(redis.call('LRANGE', KEYS[5], 0, -1))
  keep(redis.call('ZRANGEBYSCORE', KEYS[6], string.format('%.0f', now - tonumber(ARGV[6])), '+inf'))
  local spare
  for candidate = 0, tonumber(ARGV[4]) - 1 do
    if not live[candidate] then
      spare = spare or candidate
      if not kept[candidate] then
        number = candidate
        break
      end
    end
  end
  number = number or spare
  if not number then return { -1 } end
end

for _, slot in ipairs(slots[number] or {}) do redis.call('HDEL', KEYS[3], slot) end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[3])), number)
redis.call('HSET', KEYS[2], number, ARGV[2])
redis.call('HDEL', KEYS[8], number)
redis.call('HSET', KEYS[3], ARGV[1], number)

-- Incarnations of a number always increase: the time of the lease, which makes them distinct even if Redis has lost the
-- previous one.
local incarnation = now
local last = redis.call('HGET', KEYS[4], number)
if last then
  redis.call('RPUSH', KEYS[5], number .. '.' .. last)
  incarnation = math.max(now, last + 1)
end
incarnation = string.format('%.0f', incarnation)
redis.call('HSET', KEYS[4], number, incarnation)
return { number, incarnation }

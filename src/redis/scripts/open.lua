-- Reads the end of a document's log. A document without a record has the epoch of empty logs (include/empty.lua), so
-- that its clients can resume later.
--
-- KEYS  1 log  2 meta  3 the epoch of empty logs
-- ARGV  1 epoch to begin if another one is needed  2 seconds to keep meta
--       3 the move of its hash slot, see goesOn; '' none, '?' ask
--       4 timeout for the begin of healing, s  5 for the end of healing, s
-- Returns epoch, last offset, and 1 if Redis may have lost records and another epoch has begun.
--@include generation
--@include healing
--@include empty
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g', 'k', 'x')
local current = generation()

-- Time since the first call in this generation, s. Only with a single Redis.
local function knownFor ()
  local now = redis.call('TIME')[1]
  local of, since = string.match(redis.call('GET', start() .. 'generation') or '', '^(%S+) (%d+)$')
  if of == current then return now - since end
  redis.call('SET', start() .. 'generation', current .. ' ' .. now)
  return 0
end

if found[1] and found[2] then
  local state = stateOf(found[3], found[4], current, ARGV[3])
  if state == 'ask' then return asksForMove(found[3], current) end
  local limit = state == 'waits' and ARGV[4] or state == 'begun' and ARGV[5]
  if limit and knownFor() < tonumber(limit) then return redis.error_reply('HEALING the log is being restored') end
  local lost = state ~= 'whole' and state ~= 'done'
  if lost then
    found[1] = ARGV[1]
    beginEpochOf(KEYS[2], ARGV[1], found[2], current, found[5])
  elseif found[3] ~= current then
    redis.call('HSET', KEYS[2], 'g', current)
  end
  redis.call('EXPIRE', KEYS[2], ARGV[2], 'GT')
  return {found[1], found[2], lost and 1 or 0}
end
if redis.call('DEL', KEYS[1]) == 0 then return {emptyEpoch(KEYS[3], current, ARGV[1]), '0', 0} end
-- the meta of these records is lost
redis.call('HSET', KEYS[2], 'e', ARGV[1], 'o', '0', 'g', current)
redis.call('HDEL', KEYS[2], 'k')
redis.call('EXPIRE', KEYS[2], ARGV[2])
return {ARGV[1], '0', 0}

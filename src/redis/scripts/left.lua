-- The users who have left a document's presence, and from now on presence.lua writes them down.
--
-- KEYS  1 times (sorted set: uid by the time at which the user left, ms; '' is there while somebody asks)
--       2 names (hash, by uid)  3 order (see presence.lua)
-- ARGV  1 seconds to keep them
-- Returns the number of all that are stored, then for each that has not come back uid, time and name ('' for none), the
-- newest first.
redis.call('ZADD', KEYS[1], '9007199254740991', '')
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
local time = redis.call('TIME')
local since = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[1] * 1000)
local found = redis.call('ZRANGEBYSCORE', KEYS[1], since, '(9007199254740991', 'WITHSCORES')
local result = {string.format('%.0f', #found / 2)}
for i = #found - 1, 1, -2 do
  local uid = found[i]
  if #redis.call('ZRANGEBYLEX', KEYS[3], '[' .. uid .. '\0', '(' .. uid .. '\1', 'LIMIT', 0, 1) == 0 then
    result[#result + 1] = uid
    result[#result + 1] = found[i + 1]
    result[#result + 1] = redis.call('HGET', KEYS[2], uid) or ''
  end
end
return result

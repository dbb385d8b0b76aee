-- Notes what a group has read of a part of the uplink's stream, and removes what all groups have read.
--
-- KEYS  1 part  2 meta (both as in append.lua)
-- ARGV  1 group  2 holder  3 the end of the batch  4... all groups
-- Returns 1, or 0 if another holder has the lease.
local lease = redis.call('HGET', KEYS[2], 'l:' .. ARGV[1])
if not lease or string.match(lease, '^(.*)|') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], 'c:' .. ARGV[1], ARGV[3])
redis.call('HDEL', KEYS[2], 'b:' .. ARGV[1])
local least, id
for i = 4, #ARGV do
  local first, c = string.match(redis.call('HGET', KEYS[2], 'c:' .. ARGV[i]) or '0-0 0', '^(%S+) (%d+)$')
  if least == nil or tonumber(c) < least then least, id = tonumber(c), first end
end
local ms, number = string.match(id, '^(%d+)-(%d+)$')
redis.call('XTRIM', KEYS[1], 'MINID', ms .. '-' .. string.format('%.0f', tonumber(number) + 1))
redis.call('HSET', KEYS[2], 'freed', string.format('%.0f', least))
return 1

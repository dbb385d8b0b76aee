-- Takes or renews the lease of a part of the uplink's stream for a group, and reads the group's next batch.
--
-- KEYS  1 part  2 meta (both as in append.lua)
-- ARGV  1 group  2 holder  3 lease, ms  4 maximum records  5 maximum bytes  6 ms for which new records are refused, 0: none
-- Returns nothing if another holder has the lease; otherwise the end of the batch and then id, head and value of each
-- record. The batch is the same until done.lua, so that a repeated request to a service has the same records.
local group, holder = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease = redis.call('HGET', KEYS[2], 'l:' .. group)
if lease then
  local other, ends = string.match(lease, '^(.*)|(%d+)$')
  if other ~= holder and tonumber(ends) > now then
    -- The clock was set back: the lease ends when it would if it had been renewed now.
    local latest = now + tonumber(ARGV[3])
    if tonumber(ends) > latest then redis.call('HSET', KEYS[2], 'l:' .. group, other .. '|' .. string.format('%.0f', latest)) end
    return {}
  end
end
redis.call('HSET', KEYS[2], 'l:' .. group, holder .. '|' .. string.format('%.0f', now + tonumber(ARGV[3])))
if ARGV[6] ~= '0' then redis.call('HSET', KEYS[2], 'failing', string.format('%.0f', now + tonumber(ARGV[6]))) end

local read = redis.call('HGET', KEYS[2], 'c:' .. group) or '0-0 0'
local taken = redis.call('HGET', KEYS[2], 'b:' .. group)
local last, answer = string.match(read, '^%S+'), { read }
local maximum, bytes = tonumber(ARGV[4]), 0
local ending = taken and string.match(taken, '^%S+') or '+'
while true do
  local page = redis.call('XRANGE', KEYS[1], '(' .. last, ending, 'COUNT', 10)
  for _, entry in ipairs(page) do
    -- always in this order: append.lua writes them
    local head, value, c = entry[2][2], entry[2][4], entry[2][6]
    bytes = bytes + #head + #value
    if not taken and #answer > 1 and bytes > tonumber(ARGV[5]) then page = {} break end
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = entry[1], head, value
    answer[1], last = entry[1] .. ' ' .. c, entry[1]
    if not taken and #answer > maximum * 3 then page = {} break end
  end
  if #page < 10 then break end
end
if not taken and #answer > 1 then redis.call('HSET', KEYS[2], 'b:' .. group, answer[1]) end
return answer

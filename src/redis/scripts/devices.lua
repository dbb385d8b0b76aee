-- Which connection has each device: claims, renewals and ends. The latest claim wins; its time is also its number, so it
-- grows also when the clock was set back.
--
-- KEYS  for each device: "<time of the claim, ms> <connection id>", after the connection's end with " <its time, ms>"
-- ARGV  1 seconds to keep them, then three for each device: '+' claim, '=' renew, '-' end; connection id; time of its
--       claim, ms ('0' with a claim)
-- Returns two for each device: the time of the latest claim, ms, and the other connection that had the device (claim) or
-- that has it (renewal), '' if there is none.
local time = redis.call('TIME')
local wall = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i = 1, #KEYS do
  local op, sid, mine = ARGV[3 * i - 1], ARGV[3 * i], tonumber(ARGV[3 * i + 1])
  local latest, holder, ended = string.match(redis.call('GET', KEYS[i]) or '', '^(%S+) (%S+)(.*)$')
  latest = tonumber(latest or '0')
  local other = ''
  if op == '+' then
    mine = math.max(wall, latest + 1)
    if holder and holder ~= sid and ended == '' then other = holder end
  elseif holder == sid then
    mine = math.max(mine, latest)
  elseif holder and latest >= mine then
    other, mine = holder, latest
  end
  if op == '+' or other == '' then
    local value = string.format('%.0f', mine) .. ' ' .. sid
    if op == '-' then value = value .. ' ' .. string.format('%.0f', wall) end
    redis.call('SET', KEYS[i], value, 'EX', ARGV[1])
  end
  answer[2 * i - 1], answer[2 * i] = string.format('%.0f', mine), other
end
return answer

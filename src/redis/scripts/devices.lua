-- Which connection has each device: claims, renewals and ends. The latest claim wins; its time is also its number, so it
-- grows also when the clock was set back. A claim that replaces other connections names them until it is renewed, which
-- its worker does at once. If it does not, it had died, perhaps before the claim arrived: then a connection that the claim
-- has replaced claims the device again.
--
-- KEYS  for each device: "<time of the claim, ms> <connection id>", after the connection's end with " <its time, ms>",
--       until the claim is renewed with " ?<connection id>" for each one that it replaces
-- ARGV  1 seconds to keep them, then three for each device: '+' claim, '=' renew, '-' end; connection id; time of its
--       claim, ms ('0' with a claim)
-- Returns two for each device: the time of the latest claim, ms, and the ids of other connections, separated by spaces:
--       those that had the device (claim), the one that has it (renewal); '' if there is none; '?' for a renewal that
--       should be a claim; '!' before the id if the clock was set back since the claim, and Redis has lost it: then the
--       numbers do not say which of the two is the later one.
local SOON = 60000 -- ms: a worker that lives renews earlier, also after an outage of Redis
local MOST = 4 -- connections that a claim names
local time = redis.call('TIME')
local wall = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i = 1, #KEYS do
  local op, sid, mine = ARGV[3 * i - 1], ARGV[3 * i], tonumber(ARGV[3 * i + 1])
  local latest, holder, rest = string.match(redis.call('GET', KEYS[i]) or '', '^(%S+) (%S+)(.*)$')
  latest = tonumber(latest or '0')
  local others = {}
  if holder and holder ~= sid and not string.match(rest, '^ %d') then others[1] = holder end
  for before in string.gmatch(rest or '', '%?(%S+)') do
    if before ~= sid and #others < MOST then others[#others + 1] = before end
  end
  local other, value = '', nil
  if op == '+' then
    mine, value = math.max(wall, latest + 1), ''
    other = table.concat(others, ' ')
    for _, before in ipairs(others) do value = value .. ' ?' .. before end
  elseif holder == sid or not holder or (latest < mine and mine <= wall) then
    mine, value = math.max(mine, latest), op == '-' and ' ' .. string.format('%.0f', wall) or ''
  elseif latest < mine then
    other = '!' .. holder
  elseif not string.find(rest, '?', 1, true) then
    other, mine = holder, latest
  elseif wall - latest > SOON then
    other = '?'
  end
  if value then
    redis.call('SET', KEYS[i], string.format('%.0f', mine) .. ' ' .. sid .. value, 'EX', ARGV[1])
  end
  answer[2 * i - 1], answer[2 * i] = string.format('%.0f', mine), other
end
return answer

-- The time for comparisons with the ends of leases. Leases end by the wall clock of Redis, which may be set, and only
-- while somebody watches them: if the last look (the key `watched`, see watch.lua) is longer ago than PAUSE, or in the
-- future, no lease has ended since that look.
local PAUSE = 3000
local function leaseTime (watched)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local last = tonumber(redis.call('GET', watched) or now)
  if now < last then return last end
  return math.min(now, last + PAUSE)
end

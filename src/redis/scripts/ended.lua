-- Writes down when the last connections of users on a worker have ended. Of several workers' times the latest stays.
--
-- KEYS  for each user: its time (string, ms since 1970)
-- ARGV  1 seconds to keep the times, then the time of each user
-- Returns the number of times that were written.
local written = 0
for i = 1, #KEYS do
  local known, at = redis.call('GET', KEYS[i]), ARGV[i + 1]
  if not known or tonumber(known) < tonumber(at) then
    redis.call('SET', KEYS[i], at, 'EX', ARGV[1])
    written = written + 1
  end
end
return written

-- Notes a worker's part of the receipt of a record, and returns all parts, once, as soon as they are complete.
--
-- KEYS  1 parts (hash: worker number -> number of members it asks, later its finished part as a JSON object)
--       2 answer (the same hash): the parts that this worker got, which its repeated call gets again; absent: it
--       repeats none
-- ARGV  1 worker number  2 the part; '' to read all parts as they are  3 '1' to note it only if the worker has noted a
--       part before (otherwise the parts were already returned, with the earlier one)  4 seconds to keep both
-- Returns the parts, or nothing if some are unfinished or all were already returned.
local key, answer, worker, part = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if answer then
  local again = redis.call('HVALS', answer)
  if again[1] then return again end
end
if part ~= '' then
  if ARGV[3] == '1' and redis.call('HEXISTS', key, worker) == 0 then return {} end
  redis.call('HSET', key, worker, part)
  redis.call('EXPIRE', key, ARGV[4])
end
local noted = redis.call('HGETALL', key)
local parts = {}
for i = 2, #noted, 2 do
  if part ~= '' and string.sub(noted[i], 1, 1) ~= '{' then return {} end
  parts[#parts + 1] = noted[i]
end
if answer and parts[1] then
  for i = 1, #noted, 2 do redis.call('HSET', answer, noted[i], noted[i + 1]) end
  redis.call('EXPIRE', answer, ARGV[4])
end
redis.call('DEL', key)
return parts

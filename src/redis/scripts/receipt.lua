-- Notes a worker's part of the receipt of a record, and returns all parts, once, as soon as they are complete.
--
-- KEYS  1 parts (hash: worker number -> number of members it asks, later its finished part as a JSON object)
-- ARGV  1 worker number  2 the part; '' to read all parts as they are  3 '1' to note it only if the worker has noted a
--       part before (otherwise the parts were already returned, with the earlier one)  4 seconds to keep it
-- Returns the parts, or nothing if some are unfinished or all were already returned.
local key, worker, part = KEYS[1], ARGV[1], ARGV[2]
if part ~= '' then
  if ARGV[3] == '1' and redis.call('HEXISTS', key, worker) == 0 then return {} end
  redis.call('HSET', key, worker, part)
  redis.call('EXPIRE', key, ARGV[4])
end
local parts = redis.call('HVALS', key)
if part ~= '' then
  for _, noted in ipairs(parts) do
    if string.sub(noted, 1, 1) ~= '{' then return {} end
  end
end
redis.call('DEL', key)
return parts

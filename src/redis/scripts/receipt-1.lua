-- Notes what a worker knows of the receipt of a record, and hands out all parts, once, when nothing more is to come.
--
-- KEYS  1 parts (hash: worker number by how many members it asks, or, once it has done, by its part as a JSON object)
-- ARGV  1 worker number  2 what to note; '' to have all parts as they are  3 '1' if it is noted only where the worker has
--       noted something already (if not, the parts were handed out, and what it had noted counts)  4 seconds to keep it
-- Returns the parts, or nothing if some are still to come or they were handed out.
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

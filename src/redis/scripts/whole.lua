-- Whether the users of all workers are registered on this node of Redis Cluster (registered.lua).
-- KEYS  markers of the workers
-- Returns 1 if they are, else 0.
--@include generation
local current = generation()
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) ~= current then return 0 end
end
return 1

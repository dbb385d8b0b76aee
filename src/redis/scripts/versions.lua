-- Reads the presence versions of documents; the caller has members there, so their lifetime is extended.
--
-- KEYS  for each document: connections, order, meta (see presence.lua)
-- ARGV  1 seconds to keep them, '0' to keep the lifetime unchanged
-- Returns for each its version, nil if there is none.
local versions = {}
for i = 3, #KEYS, 3 do
  local version = redis.call('HGET', KEYS[i], 'v')
  versions[i / 3] = version or false
  if version and ARGV[1] ~= '0' then
    for k = i - 2, i do redis.call('EXPIRE', KEYS[k], ARGV[1], 'GT') end
  end
end
return versions

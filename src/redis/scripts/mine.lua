-- Reads the connections of one worker in a document.
-- KEYS  1 connections (see presence.lua)
-- ARGV  1 prefix of their ids
-- Returns for each its id and the incarnation of its worker.
local result = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, #ARGV[1]) == ARGV[1] then
    local entry = all[i + 1]
    local a = string.find(entry, '\0', 1, true)
    local b = string.find(entry, '\0', a + 1, true)
    local c = string.find(entry, '\0', b + 1, true)
    result[#result + 1] = all[i]
    result[#result + 1] = string.sub(entry, b + 1, c - 1)
  end
end
return result

-- A page of a document's members.
--
-- KEYS  1 connections  2 order  3 meta (see presence.lua)
-- ARGV  1 uid after which to begin, '' for the first page  2 maximum number of members
--       3 maximum number of listed connections per member  4 bytes of bodies after which the page ends
-- Returns version, number of members, '1' if the document is count-only, uid after which there are more ('' if there
-- are none), then for each connection its uid, its id and its body; connections of a user are consecutive.
local connections, order = KEYS[1], KEYS[2]
local limit, maxListed, maxBytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local STEP = 100

local found = redis.call('HMGET', KEYS[3], 'v', 'n', 'c')
local result = {found[1] or '0', found[2] or '0', found[3] or '0', ''}
local min = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. '\1'
local current, listed, members, bytes = nil, 0, 0, 0
local more = true
while more do
  local keys = redis.call('ZRANGEBYLEX', order, min, '+', 'LIMIT', 0, STEP)
  more = #keys == STEP
  local ids = {}
  local uids = {}
  for i, key in ipairs(keys) do
    local at = string.find(key, '\0', 1, true)
    uids[i] = string.sub(key, 1, at - 1)
    ids[i] = string.sub(key, at + 1)
    min = '(' .. key
  end
  local entries = #ids > 0 and redis.call('HMGET', connections, unpack(ids)) or {}
  for i, entry in ipairs(entries) do
    local uid = uids[i]
    if uid ~= current then
      if members == limit or bytes >= maxBytes then
        result[4] = current
        return result
      end
      current, listed, members = uid, 0, members + 1
    end
    listed = listed + 1
    if listed > maxListed then
      -- skip the remaining connections of this user
      min = '(' .. uid .. '\1'
      more = true
      break
    end
    if entry then
      local a = string.find(entry, '\0', 1, true)
      local b = string.find(entry, '\0', a + 1, true)
      local c = string.find(entry, '\0', b + 1, true)
      local body = string.sub(entry, c + 1)
      bytes = bytes + #body
      result[#result + 1] = uid
      result[#result + 1] = ids[i]
      result[#result + 1] = body
    end
  end
end
return result

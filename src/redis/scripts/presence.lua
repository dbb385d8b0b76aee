-- Applies changes of connections in one document, and publishes the resulting changes of its members.
--
-- KEYS  1 connections (hash: id -> uid \0 client \0 incarnation \0 body; a body is JSON)
--       2 order (sorted set, all scores 0: uid \0 id), to find the connections of a user and to page members
--       3 meta (hash: "v" version, "n" members, "c" 1: count-only)
--       4 channel (sharded)  5, 6 users who have left (left.lua): written only while clients ask for them
-- ARGV  1 number of members above which the document becomes count-only  2 share of it at which lists begin again
--       3 maximum number of listed connections per member  4 incarnation of the worker  5 seconds to keep all keys
--       6 seconds to keep the version of a document without members, or more: see `kept`
--       7 seconds to keep users who have left  8 maximum number of them
--       then five for each change: op ('+' '=' '-' '~', see src/people/presence/contract.js), id, uid, client, body; with '-'
--       and '~' the client is the incarnation that the connection must have, '' for any
-- Returns the version.
local connections, order, meta, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local maxMembers, maxListed, incarnation = tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[4]

local found = redis.call('HMGET', meta, 'v', 'n', 'c')
local version, count, countOnly = tonumber(found[1]) or 0, tonumber(found[2]) or 0, found[3] == '1'

local function parse (entry)
  local a = string.find(entry, '\0', 1, true)
  local b = string.find(entry, '\0', a + 1, true)
  local c = string.find(entry, '\0', b + 1, true)
  return string.sub(entry, 1, a - 1), string.sub(entry, a + 1, b - 1), string.sub(entry, b + 1, c - 1), string.sub(entry, c + 1)
end

-- Ids of a user's connections; ids contain no control characters.
local function idsOf (uid, limit)
  local ids = redis.call('ZRANGEBYLEX', order, '[' .. uid .. '\0', '(' .. uid .. '\1', 'LIMIT', 0, limit)
  for i, key in ipairs(ids) do ids[i] = string.sub(key, #uid + 2) end
  return ids
end

local users, touched, closed, removed = {}, {}, {}, {}
local function touch (uid)
  if not users[uid] then
    users[uid] = {before = #idsOf(uid, 1) > 0, gone = {}}
    touched[#touched + 1] = uid
  end
  return users[uid]
end

local function remove (id, uid, body)
  local user = touch(uid)
  user.body = body
  user.gone[#user.gone + 1] = id
  removed[#removed + 1] = id
  redis.call('HDEL', connections, id)
  redis.call('ZREM', order, uid .. '\0' .. id)
end

for i = 9, #ARGV, 5 do
  local op, id, uid, client, body = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local entry = redis.call('HGET', connections, id)
  if op == '-' or op == '~' then
    if entry then
      local theirs, _, theirIncarnation, last = parse(entry)
      if client == '' or client == theirIncarnation then
        remove(id, theirs, last)
        if op == '-' then closed[#closed + 1] = {id, theirs} end
      end
    end
  else
    local new = uid .. '\0' .. client .. '\0' .. incarnation .. '\0' .. body
    if entry ~= new then
      touch(uid)
      if op == '+' and client ~= '' then
        for _, other in ipairs(idsOf(uid, 100)) do
          local theirs = other ~= id and redis.call('HGET', connections, other)
          if theirs then
            local _, theirClient, _, last = parse(theirs)
            if theirClient == client then remove(other, uid, last) end
          end
        end
      end
      redis.call('HSET', connections, id, new)
      redis.call('ZADD', order, 0, uid .. '\0' .. id)
    end
  end
end
if #touched == 0 then return string.format('%.0f', version) end

-- JSON is concatenated rather than encoded, because a body is JSON already.
local quote = cjson.encode
local function list (items) return '[' .. table.concat(items, ',') .. ']' end
local function quoted (ids)
  local items = {}
  for i, id in ipairs(ids) do items[i] = quote(id) end
  return list(items)
end
local function member (uid, ids)
  local items = {}
  for i, entry in ipairs(redis.call('HMGET', connections, unpack(ids))) do
    if entry then
      local _, _, _, body = parse(entry)
      items[#items + 1] = '[' .. quote(ids[i]) .. ',' .. body .. ']'
    end
  end
  return '[' .. quote(uid) .. ',' .. list(items) .. ']'
end

local time = redis.call('TIME')
local wall = time[1] * 1000 + math.floor(time[2] / 1000)
local before = count
local now, gone = {}, {}
for _, uid in ipairs(touched) do
  now[uid] = idsOf(uid, maxListed)
  if users[uid].before and #now[uid] == 0 then
    count = count - 1
    gone[#gone + 1] = uid
  end
  if not users[uid].before and #now[uid] > 0 then count = count + 1 end
end
if #gone > 0 and redis.call('ZSCORE', KEYS[5], '') then
  for _, uid in ipairs(gone) do
    local name = cjson.decode(users[uid].body).name
    redis.call('ZADD', KEYS[5], string.format('%.0f', wall), uid)
    if name then redis.call('HSET', KEYS[6], uid, name) else redis.call('HDEL', KEYS[6], uid) end
  end
  redis.call('EXPIRE', KEYS[6], ARGV[7])
  local old = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', string.format('%.0f', wall - ARGV[7] * 1000))
  local over = redis.call('ZCARD', KEYS[5]) - 1 - ARGV[8]
  if over > #old then old = redis.call('ZRANGE', KEYS[5], 0, over - 1) end
  for _, uid in ipairs(old) do
    redis.call('ZREM', KEYS[5], uid)
    redis.call('HDEL', KEYS[6], uid)
  end
end
local wasCountOnly = countOnly
countOnly = count > maxMembers * (wasCountOnly and tonumber(ARGV[2]) or 1)
local kind = countOnly and 'count' or (wasCountOnly and 'list' or 'diff')

for _, key in ipairs({connections, order}) do redis.call('EXPIRE', key, ARGV[5]) end
-- A version begins with the time, so it must be kept until the time is later: also after the clock was set back.
local kept = math.max(tonumber(count > 0 and ARGV[5] or ARGV[6]), math.ceil((version - wall) / 1000) + 1)
local ttl = string.format('%.0f', kept)
if kind == 'count' and wasCountOnly and count == before and #removed == 0 then
  redis.call('EXPIRE', meta, ttl)
  return string.format('%.0f', version)
end

local from = version
if version == 0 then
  version = wall
else
  version = version + 1
end
redis.call('HSET', meta, 'v', string.format('%.0f', version), 'n', count, 'c', countOnly and 1 or 0)
redis.call('EXPIRE', meta, ttl)

local payload = {'{"kind":"' .. kind .. '"', string.format('"from":%.0f', from), string.format('"version":%.0f', version),
  '"count":' .. count, '"removed":' .. quoted(removed)}
if kind == 'diff' then
  local joined, changed, left, stillClosed = {}, {}, {}, {}
  for _, uid in ipairs(touched) do
    if #now[uid] == 0 then
      if #users[uid].gone > 0 then left[#left + 1] = '{"uid":' .. quote(uid) .. ',"ids":' .. quoted(users[uid].gone) .. '}' end
    elseif users[uid].before then
      changed[#changed + 1] = member(uid, now[uid])
    else
      joined[#joined + 1] = member(uid, now[uid])
    end
  end
  for _, item in ipairs(closed) do
    if #now[item[2]] > 0 then stillClosed[#stillClosed + 1] = item[1] end
  end
  payload[#payload + 1] = '"joined":' .. list(joined)
  payload[#payload + 1] = '"changed":' .. list(changed)
  payload[#payload + 1] = '"left":' .. list(left)
  payload[#payload + 1] = '"closed":' .. quoted(stillClosed)
end
redis.call('SPUBLISH', channel, table.concat(payload, ',') .. '}')
return string.format('%.0f', version)

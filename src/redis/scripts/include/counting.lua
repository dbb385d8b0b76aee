-- Keeps the counts of a log (counted.lua) while publish.lua appends to it. This is the body of a function there, which
-- is called for counted logs only: for the others creating these functions would be a tenth of the call.
--@include counted
-- base: offset up to which records were removed from the beginning; bytes: nil if they are not limited
local base, holes, bytes

local function firstOffset (entries)
  return tonumber(string.match(entries[1][1], '^%d+'))
end

-- An envelope begins with the length of its head.
local function valueBytes (envelope)
  local a, b, c, d = string.byte(envelope, 1, 4)
  return #envelope - 4 - ((a * 256 + b) * 256 + c) * 256 - d
end

-- Forgets keys whose newest record is not in the log any more.
local function prune ()
  local all = redis.call('HGETALL', newest)
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) <= base then redis.call('HDEL', newest, all[i]) end
  end
end

-- Adds up the newest records; older ones are removed when the limit is reached, so the work is limited as well.
local function addUp ()
  bytes = 0
  local before = '+'
  while true do
    local entries = redis.call('XREVRANGE', log, before, '-', 'COUNT', 16)
    for _, entry in ipairs(entries) do
      local size = valueBytes(entry[2][2])
      if bytes > 0 and bytes + size > maxBytes then
        base = tonumber(string.match(entry[1], '^%d+'))
        redis.call('XTRIM', log, 'MINID', digits(base + 1) .. '-0')
        holes = offset - base - redis.call('XLEN', log)
        return prune()
      end
      bytes = bytes + size
    end
    if #entries < 16 then return end
    before = '(' .. entries[16][1]
  end
end

local function count ()
  local same
  base, same, holes, bytes = readCounts(log, stored, epoch, offset)
  if not base then
    local first = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)
    base = first[1] and firstOffset(first) - 1 or offset
    holes, bytes = offset - base - redis.call('XLEN', log), nil
    if same then prune() else redis.call('DEL', newest) end
  end
  if maxBytes == 0 then bytes = nil elseif not bytes then addUp() end
end

-- Removes the record that the last one replaces.
local function replace (key)
  local before = redis.call('HGET', newest, key)
  if before then
    local id = before .. '-0'
    local entry = bytes and redis.call('XRANGE', log, id, id)[1]
    if entry then bytes = bytes - valueBytes(entry[2][2]) end
    holes = holes + redis.call('XDEL', log, id)
  end
  redis.call('HSET', newest, key, digits(offset))
end

-- Removes the oldest records of a counted log, a limited number per call: a smaller limit must not block Redis.
local TRIMMED = 64
local function trim ()
  local length = redis.call('XLEN', log)
  for _ = 1, TRIMMED do
    if length < 2 or (length <= maxRecords and not (bytes and bytes > maxBytes)) then return end
    local entries = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)
    local at, fields = firstOffset(entries), entries[1][2]
    redis.call('XDEL', log, entries[1][1])
    if fields[3] == 'k' and redis.call('HGET', newest, fields[4]) == digits(at) then redis.call('HDEL', newest, fields[4]) end
    if bytes then bytes = bytes - valueBytes(fields[2]) end
    holes = holes - (at - base - 1)
    base = at
    length = length - 1
  end
end

local function anew ()
  redis.call('DEL', newest)
  base, holes, bytes = 0, 0, maxBytes > 0 and 0 or nil
end

count()
return {
  -- Another log has begun, and is empty.
  anew = anew,

  append = function (id, envelope, key, afterLoss)
    local fields = {'v', envelope}
    if key ~= '' then fields[3], fields[4] = 'k', key end
    if afterLoss then fields[#fields + 1], fields[#fields + 2] = 'l', '1' end
    return redis.pcall('XADD', log, id, unpack(fields))
  end,

  appended = function (envelope, key)
    if bytes then bytes = bytes + valueBytes(envelope) end
    if key ~= '' then replace(key) end
    trim()
  end,

  text = function ()
    return epoch .. ' ' .. digits(base) .. ' ' .. digits(holes) .. ' ' .. (bytes and digits(bytes) or '')
  end
}

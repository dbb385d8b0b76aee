-- Reads the records after a position, or the newest records, as one snapshot.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch  2 offset  3 maximum number of records  4 bytes after which no more records are read
--       5 a number of newest records, in place of a position; '' reads from the position
-- Returns nothing if there is no log, or Redis may have lost the end of it; otherwise epoch, last offset, and either
-- 0 (another epoch, or past the end), 1 (records are missing), or 2 and for each record its offset (negative if records
-- between it and the one before may be missing) and its envelope.
-- In a counted log (include/counted.lua) records are missing if they were removed from its beginning: a hole between
-- two records was left by records that newer ones of their key have replaced. Of the newest records the answer has those
-- after the last loss.
--@include generation
--@include counted
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g', 'x')
if not found[1] or not found[2] or not goesOn(found[3], generation()) then return {} end

local last, limit, maxBytes = tonumber(found[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local newest = tonumber(ARGV[5])
-- Small steps: Lua holds each reply of Redis in memory, and a record may have a megabyte.
local STEP = 16

local function offsetOf (entry) return tonumber(string.match(entry[1], '^%d+')) end

-- The offset before the newest records.
local function begin ()
  local length = redis.call('XLEN', KEYS[1])
  if length == 0 then return last end
  local first = offsetOf(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1])
  if length <= newest then return first - 1 end
  if last - first + 1 == length then return last - newest end
  -- newer records of their keys have replaced others: look at each one, unless they are too large to read them twice
  local at, before, count, bytes = last, '+', 0, 0
  while count < newest and bytes < maxBytes do
    local entries = redis.call('XREVRANGE', KEYS[1], before, '-', 'COUNT', STEP)
    for _, entry in ipairs(entries) do
      if count < newest then at = offsetOf(entry) end
      count = count + 1
      bytes = bytes + #entry[2][2]
    end
    before = string.format('%.0f-0', at - 1)
  end
  return at - 1
end

local offset = newest and begin() or tonumber(ARGV[2])
if not newest and found[1] ~= ARGV[1] or offset > last then return {found[1], found[2], 0} end

-- without a position there is nothing that can be missing
local trimmed = {found[1], found[2], newest and 2 or 1}
local mayHaveHoles = false
if found[4] and offset < last then
  local base, counted = readCounts(KEYS[1], found[4], found[1], last)
  mayHaveHoles = counted
  if counted and not base then
    local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)
    base = first[1] and offsetOf(first[1]) - 1 or last
  end
  if base and offset < base then return trimmed end
end

local result = {found[1], found[2], 2}
local bytes, count = 0, 0
while count < limit and offset < last and bytes < maxBytes do
  local entries = redis.call('XRANGE', KEYS[1], string.format('%.0f-0', offset + 1), '+', 'COUNT', math.min(STEP, limit - count))
  if #entries == 0 then return trimmed end
  for _, entry in ipairs(entries) do
    local at = offsetOf(entry)
    local fields = entry[2]
    local lost = fields[#fields - 1] == 'l'
    -- a hole: the first records were trimmed, or the log was lost in part
    local hole = at ~= offset + 1 and not mayHaveHoles
    if newest then
      if hole or lost then result = {found[1], found[2], 2} end
    elseif hole then
      return trimmed
    end
    offset = at
    local envelope = fields[2]
    result[#result + 1] = lost and -at or at
    result[#result + 1] = envelope
    bytes = bytes + #envelope
    count = count + 1
  end
end
return result

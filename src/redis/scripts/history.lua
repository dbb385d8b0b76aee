-- Reads the records after a position, as one snapshot.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch  2 offset  3 maximum number of records  4 bytes after which no more records are read
-- Returns nothing if there is no log, or Redis may have lost the end of it; otherwise epoch, last offset, and either
-- 0 (another epoch, or past the end), 1 (records are missing), or 2 and for each record its offset (negative if records
-- between it and the one before may be missing) and its envelope.
-- In a counted log (include/counted.lua) records are missing if they were removed from its beginning: a hole between
-- two records was left by records that newer ones of their key have replaced.
--@include generation
--@include counted
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g', 'x')
if not found[1] or not found[2] or not goesOn(found[3], generation()) then return {} end

local last, limit, maxBytes = tonumber(found[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local offset = tonumber(ARGV[2])
if found[1] ~= ARGV[1] or offset > last then return {found[1], found[2], 0} end

local trimmed = {found[1], found[2], 1}
local mayHaveHoles = false
if found[4] and offset < last then
  local base, counted = readCounts(KEYS[1], found[4], found[1], last)
  mayHaveHoles = counted
  if counted and not base then
    local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)
    base = first[1] and tonumber(string.match(first[1][1], '^%d+')) - 1 or last
  end
  if base and offset < base then return trimmed end
end

-- Small steps: Lua holds each reply of Redis in memory, and a record may have a megabyte.
local STEP = 16
local result = {found[1], found[2], 2}
local bytes, count = 0, 0
while count < limit and offset < last and bytes < maxBytes do
  local entries = redis.call('XRANGE', KEYS[1], string.format('%.0f-0', offset + 1), '+', 'COUNT', math.min(STEP, limit - count))
  if #entries == 0 then return trimmed end
  for _, entry in ipairs(entries) do
    local at = tonumber(string.match(entry[1], '^%d+'))
    -- a hole: the first records were trimmed, or the log was lost in part
    if at ~= offset + 1 and not mayHaveHoles then return trimmed end
    offset = at
    local fields = entry[2]
    local envelope = fields[2]
    result[#result + 1] = fields[#fields - 1] == 'l' and -at or at
    result[#result + 1] = envelope
    bytes = bytes + #envelope
    count = count + 1
  end
end
return result

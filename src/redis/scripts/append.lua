-- Appends a record to a part of the uplink's stream.
--
-- KEYS  1 part (stream: "h" head, "v" value, "c" bytes appended to the part so far, this record included)
--       2 meta (hash: "total" bytes appended so far, "freed" bytes that all groups have read, "failing" new records are
--       refused until then, ms; by group: "c:" what it has read, "b:" the end of the batch that it has taken, both as
--       "<id> <c of that record>", and "l:" its lease, "<holder>|<until, ms>")
--       3 channel (sharded) of those who wait for records  4 marks of the user's queues (hash, include/queues.lua);
--       the part again if the record has no queue
-- ARGV  1 head  2 value  3 maximum records  4 maximum bytes  5 place in the client's queue, "<number> <id>", '' if it has
--       none  6 "<seconds to keep the marks of queues> <maximum number of them>"
--       7 the latest time that Redis may have reached, ms: an id is never
--       older, so that ids grow also when the stream was lost and the clock set back  8 longest time for which new records are refused, ms
-- Returns 1 if it was appended, 0 if the queue had it before, -1 if the part is full, -2 if its readers fail.
--@include queues
local place = ARGV[5] ~= '' and placeOf(ARGV[5])
if place and wasQueued(KEYS[4], place) then return 0 end
local state = redis.call('HMGET', KEYS[2], 'total', 'freed', 'failing')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if state[3] then
  local left = tonumber(state[3]) - now
  -- longer: the clock was set back
  if left > 0 and left <= tonumber(ARGV[8]) then return -2 end
end
local size = #ARGV[1] + #ARGV[2]
local waiting = (tonumber(state[1]) or 0) - (tonumber(state[2]) or 0)
if waiting + size > tonumber(ARGV[4]) or redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
local total = redis.call('HINCRBY', KEYS[2], 'total', size)
local function add (id)
  return redis.pcall('XADD', KEYS[1], id, 'h', ARGV[1], 'v', ARGV[2], 'c', string.format('%.0f', total))
end
local added = { err = '' }
if tonumber(ARGV[7]) > now then added = add(string.format('%.0f', ARGV[7]) .. '-*') end
-- the newest id of the stream may be later than that
if type(added) == 'table' then added = add('*') end
if type(added) == 'table' then return added end
if place then
  local seconds, most = string.match(ARGV[6], '^(%d+) (%d+)$')
  noteQueued(KEYS[4], place, seconds, tonumber(most))
end
redis.call('SPUBLISH', KEYS[3], '')
return 1

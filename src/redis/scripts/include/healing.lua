--@include start
-- If all records of a log come from one Kafka partition, named in meta as "k", ingest publishes the lost ones again.
-- Until then the log must not be read. A log that could not be healed begins another epoch without "k", and is bound
-- again by its next record from Kafka ("b" in publish.lua). The state of the partition's healing is in another hash slot, so healing works
-- with a single Redis only. Why: docs/internals/decisions/0094-losses-of-redis.md
--
-- The state: `<generation> <state> <older generations>`; healing completes logs that were last written in one of these
-- (heal.lua).
local function readHealing (value)
  return string.match(value or '', '^(%S+) (%S+) ?(.*)$')
end

-- What has become of a log that was last written in the generation `noted`, and is bound to `source` (false: to none):
-- 'whole'; 'ask': whether its hash slot has moved (goesOn); 'lost': it may lack its end; or its healing: 'waits', 'begun'
-- or 'done'.
local function stateOf (noted, source, current, move)
  if goesOn(noted, current, move) then return 'whole' end
  if move == '?' then return 'ask' end
  if not source then return 'lost' end
  local of, state, older = readHealing(redis.call('GET', start() .. '{k:' .. source .. '}:healing'))
  if of ~= current then return 'waits' end
  return state ~= 'failed' and string.find(' ' .. older .. ' ', ' ' .. noted .. ' ', 1, true) and state or 'lost'
end

-- Begins another epoch of a log that is lost: the offsets of lost records may be assigned again. The records that Redis
-- still has stay in the log: they may have been acknowledged. Returns the counts of the log (counted.lua).
local function beginEpochOf (meta, epoch, offset, current, counts)
  redis.call('HSET', meta, 'e', epoch, 'g', current, 'b', epoch .. ' ' .. offset)
  redis.call('HDEL', meta, 'k')
  if not counts then return counts end
  counts = string.gsub(counts, '^%S+', epoch)
  redis.call('HSET', meta, 'x', counts)
  return counts
end

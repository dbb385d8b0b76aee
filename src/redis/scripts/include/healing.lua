-- If all records of a log come from one Kafka partition, named in meta as "k", ingest publishes the lost ones again.
-- Until then the log must not be read. A log that could not be healed begins another epoch without "k", and is bound
-- again by its next record from Kafka ("b" in publish.lua). The state of the partition's healing is in another hash slot, so healing works
-- with a single Redis only. Why: docs/decisions/0094-generations-of-redis.md
--
-- The state: `<generation> <state> <older generations>`; healing completes logs that were last written in one of these
-- (heal.lua).
local function readHealing (value)
  return string.match(value or '', '^(%S+) (%S+) ?(.*)$')
end

-- State of a log last written in the generation `noted`: 'begun', 'done' or 'failed' in the current one; '' if healing
-- has not begun.
local function healingOf (source, noted, current)
  local of, state, older = readHealing(redis.call('GET', 'inkcast:{k:' .. source .. '}:healing'))
  if of ~= current then return '' end
  return string.find(' ' .. older .. ' ', ' ' .. noted .. ' ', 1, true) and state or 'failed'
end

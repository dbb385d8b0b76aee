-- Where all records of a log come from one Kafka partition, which meta names as "k", what Redis has lost of it comes again. Until then nobody may read it.
-- What is known of the partition's healing lies in another slot, so this is for a single Redis alone. Why: docs/decisions/0094-generations-of-redis.md
--
-- Its value: `<generation> <state> <older generations>`; what was written in one of these lacks nothing but what comes again (heal-2.lua).
local function readHealing (value)
  return string.match(value or '', '^(%S+) (%S+) ?(.*)$')
end

-- Of a log that was written in the generation `noted` last: 'begun', 'done' or 'failed' in the current one; '' if nobody has looked.
local function healingOf (source, noted, current)
  local of, state, older = readHealing(redis.call('GET', 'inkcast:{k:' .. source .. '}:healing'))
  if of ~= current then return '' end
  return string.find(' ' .. older .. ' ', ' ' .. noted .. ' ', 1, true) and state or 'failed'
end

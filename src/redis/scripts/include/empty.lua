-- A document without a record has no key. Its position is the offset 0 in the epoch of empty logs, and its first record
-- takes this epoch over. The epoch is "<name>-<turn>". No document may get the same one twice, so
-- - another name begins with each generation;
-- - another turn begins after each eviction, and after 6 days: a log that has begun keeps its meta for 7 days (META_TTL)
--   by the same clock.
-- A log of which an operator deletes all keys meanwhile begins with the same epoch again.
local TURN = 6 * 86400

-- `begins`: the name, if another one begins.
local function emptyEpoch (key, current, begins)
  local evicted = string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or ''
  local now = tonumber(redis.call('TIME')[1])
  local name, turn, since, of, before = string.match(redis.call('GET', key) or '', '^(%S+)%-(%d+) (%d+) (%S*) (%d*)$')
  local named = name and of == current
  if named and before == evicted and now < since + TURN then
    local epoch = name .. '-' .. turn
    -- The clock was set back. The turn lasts until then no longer, and so do the logs that have begun with it.
    if now < tonumber(since) then redis.call('SET', key, epoch .. ' ' .. now .. ' ' .. current .. ' ' .. evicted, 'EX', 2 * TURN) end
    return epoch
  end
  local epoch = named and name .. '-' .. string.format('%.0f', turn + 1) or begins .. '-0'
  redis.call('SET', key, epoch .. ' ' .. now .. ' ' .. current .. ' ' .. evicted, 'EX', 2 * TURN)
  return epoch
end

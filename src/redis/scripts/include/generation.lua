-- A generation of Redis: the period in which its data has lost nothing, from a start, or from the promotion of a
-- replica, to the next one. Each has a replication id of its own (redis.io, "How Redis replication works"). A value
-- stored in Redis could not identify it, because it would be rolled back together with the data.
-- Why: docs/internals/decisions/0094-losses-of-redis.md

-- '' if the server does not report it.
local function generation ()
  local info = redis.call('INFO', 'replication')
  local _, at = string.find(info, 'master_replid:', 1, true)
  return at and string.sub(info, at + 1, at + 20) or ''
end

-- Whether data written in the generation `noted` (false: by a version that noted none) is complete in the current one.
-- `move` is `<generation>><generation>` if a hash slot has moved between two live nodes (src/redis/identity/moved-slots.js).
local function goesOn (noted, current, move)
  return not noted or noted == current or noted .. '>' .. current == move
end

-- The reply to a caller that passes '?' as the move: the caller can look it up.
local function asksForMove (noted, current)
  return redis.error_reply('GENERATION ' .. noted .. ' ' .. current)
end


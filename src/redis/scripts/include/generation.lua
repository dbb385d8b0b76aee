-- A generation of Redis: the time in which its data has lost nothing, from a start, or from the promotion of a replica, to the next one. Each has
-- a replication id of its own (redis.io, "How Redis replication works"); nothing that is written in Redis can tell it, because that goes back together
-- with the data. Why: docs/decisions/0094-generations-of-redis.md

-- '' where the server does not tell it.
local function generation ()
  local info = redis.call('INFO', 'replication')
  local _, at = string.find(info, 'master_replid:', 1, true)
  return at and string.sub(info, at + 1, at + 20) or ''
end

-- Whether what was written in the generation `noted` (false: by a version that noted none) has lost nothing in the current one. `move` is
-- `<generation>><generation>` where a slot has moved from one node to another that was there before (src/redis/slot-moves.js).
local function goesOn (noted, current, move)
  return not noted or noted == current or noted .. '>' .. current == move
end

-- The answer to a caller that gives '?' for the move and can find it out.
local function asksForMove (noted, current)
  return redis.error_reply('GENERATION ' .. noted .. ' ' .. current)
end


-- Marks of a user's queues in a document (hash): by the id of a queue "<last number accepted> <turn>", and in the field
-- '' the last turn. The number of queues is bounded: the one that was used least recently makes room.

-- Parses "<number> <id of the queue>".
local function placeOf (text)
  local number, id = string.match(text, '^(%d+) (.*)$')
  return { id = id, number = tonumber(number), text = number }
end

local function wasQueued (marks, place)
  local last = string.match(redis.call('HGET', marks, place.id) or '', '^%d+')
  return (tonumber(last) or 0) >= place.number
end

local function noteQueued (marks, place, seconds, most)
  local turn = redis.call('HINCRBY', marks, '', 1)
  redis.call('HSET', marks, place.id, place.text .. ' ' .. string.format('%.0f', turn))
  if redis.call('HLEN', marks) > most + 1 then
    local all, oldest, least = redis.call('HGETALL', marks), nil, turn
    for i = 1, #all, 2 do
      local at = tonumber(string.match(all[i + 1], ' (%d+)$'))
      if at and at < least then oldest, least = all[i], at end
    end
    if oldest then redis.call('HDEL', marks, oldest) end
  end
  redis.call('EXPIRE', marks, seconds)
end

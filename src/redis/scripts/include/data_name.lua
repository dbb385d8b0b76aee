-- Name of the data about the workers: another one after each loss of data. After a restart, or the promotion of a
-- replica, the last writes may be missing (generation.lua), and so registrations of users. Then every worker counts as
-- one that registers its users again, until it has done so.
-- A worker that is not in the data may be alive, and the data does not show it. The key `doubted` exists for a time
-- in which such a worker comes back: after the first renewal of all each one that reaches Redis renews its lease in 4 s,
-- and after a loss of data each lease of before ends in 13 s (log/bus/registry.js).
--@include generation
local function doubt (doubted, seconds) redis.call('SET', doubted, '1', 'EX', seconds) end

-- begins: the name if there is none; nil: there stays none
-- Returns the name, '' without one.
local function dataName (registry, incarnations, settling, doubted, begins)
  local name, noted = string.match(redis.call('GET', registry) or '', '^(%S+) ?(%S*)$')
  local current = generation()
  if name and noted == current then return name .. ' ' .. current end
  if not (name or begins) then return '' end
  redis.call('SET', registry, (name or begins) .. ' ' .. current)
  doubt(doubted, name and 13 or 4)
  local workers = redis.call('HGETALL', incarnations)
  for i = 1, #workers, 2 do redis.call('HSET', settling, workers[i], workers[i + 1]) end
  return (name or begins) .. ' ' .. current
end

-- Notes how far the healing of a Kafka partition is: what documents have lost of it is read from Kafka again.
--
-- KEYS  1 mark of the partition: the newest of its records that was ingested, "<offset>.<leader epoch>"  2 its healing (include/healing.lua)
-- ARGV  1 the generation in which that is so, '' to ask only  2 state ('begun', 'done', 'failed')  3 how long a mark lives when it is written, s  4 seconds to keep it
-- Returns the generation, the state in it ('' if there is none), the mark ('' if there is none) and the age of the mark, s; in another generation than ARGV[1] nothing is noted.
--@include generation
--@include healing
-- More generations than that without a record in a document are too many.
local OLDER = 16
local current = generation()
local of, state, older = readHealing(redis.call('GET', KEYS[2]))
if of ~= current then
  -- What had failed before stays failed; what was written after that has not.
  older = (state == 'failed' or not of) and (of or '') or older .. ' ' .. of
  local names = {}
  for name in string.gmatch(older, '%S+') do names[#names + 1] = name end
  older = table.concat(names, ' ', math.max(1, #names - OLDER + 1))
  state = ''
end
if ARGV[1] == current then
  state = ARGV[2]
  redis.call('SET', KEYS[2], current .. ' ' .. state .. ' ' .. older, 'EX', ARGV[4])
end
local mark = redis.call('GET', KEYS[1])
return {current, state, mark or '', mark and ARGV[3] - redis.call('TTL', KEYS[1]) or 0}

-- Notes the state of healing of a Kafka partition: its records that documents have lost are read from Kafka again.
--
-- KEYS  1 mark of the partition: the newest of its ingested records, "<offset>.<leader epoch>"
--       2 its healing (include/healing.lua)
-- ARGV  1 the generation of this state, '' to read only  2 state ('begun', 'done', 'failed')
--       3 lifetime of a mark when it is written, s  4 seconds to keep the state
-- Returns the generation, its state ('' if there is none), the mark ('' if there is none) and the age of the mark, s.
-- The state is noted only if ARGV[1] is the current generation.
--@include generation
--@include healing
-- Maximum number of older generations. A document without a record in more generations than this is not healed.
local OLDER = 16
local current = generation()
local of, state, older = readHealing(redis.call('GET', KEYS[2]))
if of ~= current then
  -- Generations before a failed one stay failed; logs written in the failed one or later can be healed.
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

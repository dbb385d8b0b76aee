-- Stores the mark of a Kafka partition, unless healing of this generation of Redis has not begun: until then the stored
-- mark shows which records of the partition Redis may have lost.
--
-- KEYS  1 mark of the partition  2 its healing (heal.lua)
-- ARGV  1 mark  2 seconds to keep it  3 the generation in which it was reached
-- Returns 1 if it was stored.
--@include generation
local of = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+)')
local current = generation()
if of ~= current or ARGV[3] ~= current then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1

-- Removes the records of a log up to an offset: a snapshot contains them.
--
-- KEYS  1 log  2 meta
-- ARGV  1 epoch  2 offset
-- Returns epoch and last offset, and the number of removed records; -1 if the log has another epoch or does not reach
-- that far; nothing if there is no log, or Redis may have lost the end of it.
--@include generation
local found = redis.call('HMGET', KEYS[2], 'e', 'o', 'g')
if not found[1] or not found[2] or not goesOn(found[3], generation()) then return {} end
if found[1] ~= ARGV[1] or tonumber(ARGV[2]) > tonumber(found[2]) then return {found[1], found[2], -1} end
return {found[1], found[2], redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f-0', tonumber(ARGV[2]) + 1))}

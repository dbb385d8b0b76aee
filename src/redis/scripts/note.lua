-- Notes the number of an entry of a client's queue as accepted, unless a later one is.
--
-- KEYS  1 marks of the user's queues (hash, include/queues.lua)
-- ARGV  1 "<number> <id of the queue>"  2 seconds to keep the marks  3 maximum number of queues
-- Returns 1 if it was noted.
--@include queues
local place = placeOf(ARGV[1])
if wasQueued(KEYS[1], place) then return 0 end
noteQueued(KEYS[1], place, ARGV[2], tonumber(ARGV[3]))
return 1

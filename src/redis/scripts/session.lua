-- Keeps or ends the session of a client that comes back, unless a later connection of the client has it: one that was
-- replaced while its worker was paused must not write over its successor.
--
-- KEYS  1 the session; 2 the device (devices.lua)
-- ARGV  1 connection id; 2 time of its claim to the device, ms ('0': it has none yet); 3 the session, '' ends it;
--       4 seconds to keep it
-- Returns 1, or 0 if it belongs to another connection
local latest, holder = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+) (%S+)')
if holder and holder ~= ARGV[1] and tonumber(latest) > tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then redis.call('UNLINK', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4]) end
return 1

-- Marks that the users of a worker are registered on this node of Redis Cluster (markers.js). The marker is the generation
-- of the node, and begins with '-' while the worker registers its users again.
--
-- KEYS  1 marker
-- ARGV  1 '1' the worker has written it before  2 '1' all users are registered  3 seconds to keep it
-- Returns 1 if the node may have lost registrations since then. Only a marker that was there while the users were
-- registered shows that all of them still are.
--@include generation
local current = generation()
local before = redis.call('GET', KEYS[1])
local lost = ARGV[1] == '1' and before ~= current and before ~= '-' .. current
redis.call('SET', KEYS[1], (ARGV[2] == '1' and not lost and '' or '-') .. current, 'EX', ARGV[3])
return lost and 1 or 0

-- Gives back the lease of a part of the uplink's stream.
-- KEYS  1 meta (append.lua)   ARGV  1 group  2 holder
local lease = redis.call('HGET', KEYS[1], 'l:' .. ARGV[1])
if lease and string.match(lease, '^(.*)|') == ARGV[2] then redis.call('HDEL', KEYS[1], 'l:' .. ARGV[1]) end
return 1

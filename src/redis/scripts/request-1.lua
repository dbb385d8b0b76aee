-- Begins a request with an idempotency key, unless it was made before.
--
-- KEYS  1 request (hash: "f" fingerprint, "t" trace id, "p" the process that is at it, "u" until when, ms, "a" its answer)
-- ARGV  1 fingerprint  2 trace id  3 ms for which it may be in work  4 seconds to keep it  5 process: it is not at it any more, if it ever was
-- Returns "new" and the trace id to use, which is the earlier one when nobody is at it any more; "done" and its answer;
-- "busy", or "other" when the same key came with another fingerprint.
local found = redis.call('HMGET', KEYS[1], 'f', 't', 'u', 'a', 'p')
if found[1] and found[1] ~= ARGV[1] then return {'other'} end
if found[4] then return {'done', found[4]} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if found[3] and tonumber(found[3]) > now and found[5] ~= ARGV[5] then return {'busy'} end
local traceId = found[2] or ARGV[2]
redis.call('HSET', KEYS[1], 'f', ARGV[1], 't', traceId, 'p', ARGV[5], 'u', string.format('%.0f', now + tonumber(ARGV[3])))
redis.call('EXPIRE', KEYS[1], ARGV[4])
return {'new', traceId}

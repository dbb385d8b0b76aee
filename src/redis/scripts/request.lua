-- Begins a request with an idempotency key, unless it is a duplicate.
--
-- KEYS  1 request (hash: "f" fingerprint, "t" trace id, "p" the process that works on it, "u" deadline of this work,
--       ms, "s" set if that deadline has passed before, "a" its response)
-- ARGV  1 fingerprint, or "*" for any  2 trace id  3 maximum duration of the work, ms  4 seconds to keep the request
--       5 calling process: it has given up any earlier attempt of its own
--       6 time in which a process that works renews its deadline, ms
-- Returns "new", the trace id to use, and 1 if a previous attempt was given up, whose trace id this is, otherwise 0;
-- "done" and its response; "busy"; or "other" if the key was used with another fingerprint.
local found = redis.call('HMGET', KEYS[1], 'f', 't', 'u', 'a', 'p', 's')
if found[1] and found[1] ~= ARGV[1] and ARGV[1] ~= '*' then return {'other'} end
if found[4] then return {'done', found[4]} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadline = tonumber(found[3] or 0)
if deadline > 0 and found[5] ~= ARGV[5] then
  local latest = now + tonumber(ARGV[3])
  if deadline > latest then
    -- The clock was set back: the work ends when it would if it had begun now.
    redis.call('HSET', KEYS[1], 'u', string.format('%.0f', latest))
  elseif deadline <= now and not found[6] then
    -- The clock may have been set forward: a process that is alive renews its work meanwhile.
    deadline = now + tonumber(ARGV[6])
    redis.call('HSET', KEYS[1], 's', '1', 'u', string.format('%.0f', deadline))
  end
  if deadline > now then return {'busy'} end
end
local traceId = found[2] or ARGV[2]
redis.call('HSET', KEYS[1], 'f', ARGV[1], 't', traceId, 'p', ARGV[5], 'u', string.format('%.0f', now + tonumber(ARGV[3])))
redis.call('HDEL', KEYS[1], 's')
redis.call('EXPIRE', KEYS[1], ARGV[4])
return {'new', traceId, found[1] and 1 or 0}

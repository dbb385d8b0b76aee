-- Appends entries to the log of one document and publishes each to the subscribed workers, all or nothing.
--
-- KEYS  1 log (stream, entry id "<offset>-0", field "v" the envelope)
--       2 meta (hash: "e" epoch, "o" last offset, "g" generation of Redis (include/generation.lua), "k" the source of
--       its records, if all have the same source and can be healed (include/healing.lua),
--       "s:<source>" highest sequence of that source, "<sequence>.<leader epoch>" if the leader epoch is known)
--       3 channel (sharded)  4 idempotency keys (sorted set, by the time of their record, seconds since 1970)
--       5 mark of a client's queue (string: the last number accepted); the log again if the entry has no queue
-- ARGV  1 epoch to begin if there is no log  2 records to keep  3 seconds to keep them  4 seconds to keep meta
--       5 lifetime of an idempotency key, s  6 maximum number of these keys
--       7 the move of its hash slot, see goesOn; '' none, '?' ask
--       8 the generation for which the source is read again from the first record that Redis may have lost, '' if
--       unknown; '-' nothing is healed
--       9 number of the entry in the client's queue, '' if it has none; such an entry is alone  10 seconds to keep
--       the mark
--       then five for each entry: source ('' for none), sequence as in meta, '1' if ephemeral, idempotency key ('' for
--       none), envelope
-- Returns the epoch ('' if all entries are ephemeral), then for each entry its offset, 0 if ephemeral, or
-- -1 - <last offset> for a duplicate.
--@include generation
--@include healing
local log, meta, channel, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- Lua prints numbers from 1e14 on with an exponent; integers are exact up to 2^53.
local function digits (number)
  return string.format('%.0f', number)
end

-- Seconds since 1970; constant while a script runs.
local function now ()
  local time = redis.call('TIME')
  return time[1] + time[2] / 1e6
end

-- All or nothing also if a permission of inkcast's user was removed: Redis checks each command by itself, and a command
-- refused after an XADD would leave a log that does not match its meta. (XADD is the first write and needs no check.)
local may = redis.acl_check_cmd
local allowed = may('SPUBLISH', channel, '') and may('HGET', meta, 'e') and may('HSET', meta, 'e', '') and may('EXPIRE', meta, '1') and may('INFO', 'replication') and may('HDEL', meta, 'k')
for i = 14, #ARGV, 5 do
  if ARGV[i] ~= '' and not (may('TIME') and may('ZSCORE', keys, '') and may('ZADD', keys, '0', '') and may('ZREMRANGEBYSCORE', keys, '0', '0') and may('ZREMRANGEBYRANK', keys, '0', '0')) then
    allowed = false
  end
end
if ARGV[9] ~= '' and not (may('GET', KEYS[5]) and may('SET', KEYS[5], '')) then allowed = false end
if not allowed then
  return redis.error_reply('NOPERM publishing needs INFO, HGET, HDEL, HSET, EXPIRE, TIME, ZSCORE, ZADD, ZREMRANGEBYSCORE, ZREMRANGEBYRANK, GET, SET and SPUBLISH, on all keys and channels of inkcast')
end

local epoch, offset, noted, current, bound, healing
local sequences = {}
local appended, binds, begun = false, false, 0
local results = {''}

-- Begins another log: Redis may have lost the end of the current one, whose offsets must not be assigned again, or its
-- records no longer have one source.
local function beginAnew ()
  redis.call('DEL', log)
  epoch, offset, noted, bound, healing = ARGV[1] .. (begun == 0 and '' or begun), 0, current, false, false
  begun = begun + 1
  redis.call('HSET', meta, 'e', epoch, 'o', '0', 'g', current)
  redis.call('HDEL', meta, 'k')
end

local function open ()
  local found = redis.call('HMGET', meta, 'e', 'o', 'g', 'k')
  epoch, offset, noted, bound, current = found[1], tonumber(found[2]), found[3], found[4], generation()
  if not epoch or not offset then
    epoch, offset, bound = ARGV[1], 0, false
    return
  end
  if goesOn(noted, current, ARGV[7]) then return end
  if ARGV[7] == '?' then return asksForMove(noted, current) end
  if not bound or ARGV[11] ~= bound or ARGV[8] == '-' then return beginAnew() end
  -- Entries of a call are from one Kafka partition, so one decision holds for all of them.
  local state = healingOf(bound, noted, current)
  if state == 'failed' then return beginAnew() end
  if ARGV[8] ~= current then return redis.error_reply('UNHEALED ' .. current) end
  healing = state == 'begun'
  if not healing and state ~= 'done' then return redis.error_reply('UNHEALED ' .. current) end
end

local function append (envelope)
  local id = digits(offset + 1) .. '-0'
  local added = redis.pcall('XADD', log, 'MAXLEN', '~', ARGV[2], id, 'v', envelope)
  if type(added) == 'table' and added.err then
    -- The stream is ahead of meta, which was lost (expired, evicted) or restored. Each further XADD would fail, so
    -- another log begins. Only the first entry of a call can get here, so no entry of this call is lost.
    if appended or not string.find(added.err, 'equal or smaller', 1, true) then return added end
    redis.call('DEL', log)
    epoch, offset, healing = ARGV[1], 0, false
    redis.call('XADD', log, '1-0', 'v', envelope)
  end
  offset = offset + 1
  appended = true
end

-- Each new key extends the lifetime of the set, so it may contain expired keys. During healing the question is whether
-- a key was known when its record was first published, at most MARGIN ago. Second result: true if that is undecidable.
local MARGIN = 600
local function isKnown (key)
  local at = redis.call('ZSCORE', keys, key)
  if at and tonumber(at) > now() - tonumber(ARGV[5]) then return true end
  return false, at or redis.call('ZCARD', keys) >= tonumber(ARGV[6])
end

local function remember (key)
  local now = now()
  redis.call('ZADD', keys, now, key)
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', now - tonumber(ARGV[5]) - MARGIN)
  redis.call('ZREMRANGEBYRANK', keys, 0, -1 - tonumber(ARGV[6]))
  redis.call('EXPIRE', keys, ARGV[5] + MARGIN)
end

-- A later leader epoch is newer regardless of its offset: the partition may have lost its end. Earlier versions store
-- sequences without an epoch, and compare with tonumber, for which the epoch is a fraction: then the offset alone
-- decides.
local function isCovered (sequence, last)
  if not last then return false end
  local offset, epoch = string.match(sequence, '^(%d+)%.?(%d*)$')
  local lastOffset, lastEpoch = string.match(last, '^(%d+)%.?(%d*)$')
  if not lastOffset then return false end
  if epoch ~= '' and lastEpoch ~= '' and epoch ~= lastEpoch then return tonumber(epoch) < tonumber(lastEpoch) end
  return tonumber(offset) <= tonumber(lastOffset)
end

for i = 11, #ARGV, 5 do
  local source, sequence, key, envelope = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 4]
  if ARGV[i + 2] == '1' then
    redis.call('SPUBLISH', channel, ':0:' .. envelope)
    results[#results + 1] = 0
  else
    local failed = not epoch and open()
    if failed then return failed end
    local covered = source ~= '' and isCovered(sequence, sequences[source] or redis.call('HGET', meta, 's:' .. source))
    local known, unsure = false, false
    if ARGV[9] ~= '' then known = (tonumber(redis.call('GET', KEYS[5])) or 0) >= tonumber(ARGV[9]) end
    if not covered and not known and key ~= '' then known, unsure = isKnown(key) end
    if covered or known then
      results[#results + 1] = -1 - offset
    else
      local mixed = bound and bound ~= source
      if mixed or (healing and unsure) then beginAnew() end
      -- a log that has had several sources stays unbound: otherwise each change of source would begin another epoch
      if offset == 0 and not bound and not mixed and source ~= '' and ARGV[8] ~= '-' then
        bound = source
        binds = true
      end
      failed = append(envelope)
      if failed then return failed end
      if key ~= '' then remember(key) end
      if ARGV[9] ~= '' then redis.call('SET', KEYS[5], ARGV[9], 'EX', ARGV[10]) end
      -- no live delivery of healed records: clients read the log when it is complete again
      if not healing then redis.call('SPUBLISH', channel, epoch .. ':' .. digits(offset) .. ':' .. envelope) end
      results[#results + 1] = offset
    end
    -- also for a known key: Kafka may deliver the record again after the key has expired
    if source ~= '' and not covered then sequences[source] = sequence end
  end
end

if appended or next(sequences) then
  local fields = {'e', epoch, 'o', digits(offset)}
  if binds then
    fields[#fields + 1] = 'k'
    fields[#fields + 1] = bound
  end
  if noted ~= current and not healing then
    fields[#fields + 1] = 'g'
    fields[#fields + 1] = current
  end
  for source, sequence in pairs(sequences) do
    fields[#fields + 1] = 's:' .. source
    fields[#fields + 1] = sequence
  end
  redis.call('HSET', meta, unpack(fields))
  if appended then redis.call('EXPIRE', log, ARGV[3]) end
  redis.call('EXPIRE', meta, ARGV[4])
end
if epoch then results[1] = epoch end
return results

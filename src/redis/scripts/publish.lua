-- Appends entries to the log of one document and publishes each to the subscribed workers, all or nothing.
--
-- KEYS  1 log (stream, entry id "<offset>-0", field "v" the envelope, after it field "k" the key if it has one, after
--       it field "l" if records between this one and the one before may be missing)
--       2 meta (hash: "e" epoch, "o" last offset, "g" generation of Redis (include/generation.lua), "k" the source of
--       its records, if all have the same source and can be healed (include/healing.lua),
--       "b" where the epoch began, "<epoch> <offset>", if the log may be bound from there on (it has lost records),
--       "x" counts (include/counted.lua), "t" time of the idempotency keys (keyTime), "s:<source>" highest sequence of that source,
--       "<sequence>.<leader epoch>" if the leader epoch is known)
--       3 channel (sharded)  4 idempotency keys (sorted set, by the time of their record, see keyTime)
--       5 marks of the user's queues (hash, include/queues.lua); the log again if the entry has no queue
--       6 newest (hash: offset of the newest record of each key)  7 the epoch of empty logs (include/empty.lua)
-- ARGV  1 epoch to begin if another one is needed  2 records to keep  3 seconds to keep them  4 seconds to keep meta
--       5 lifetime of an idempotency key, s  6 maximum number of these keys
--       7 the move of its hash slot, see goesOn; '' none, '?' ask
--       8 the generation for which the source is read again from the first record that Redis may have lost, '' if
--       unknown; '-' nothing is healed
--       9 place of the entry in a client's queue, "<number> <id>", '' if it has none; such an entry is alone
--       10 "<seconds to keep the marks of queues> <maximum number of them>"  11 bytes of values to keep, 0: no limit
--       then six for each entry: source ('' for none), sequence as in meta, '1' if ephemeral, idempotency key ('' for
--       none), key ('' for none), envelope
-- Returns the epoch ('' if all entries are ephemeral), then for each entry its offset, 0 if ephemeral, or
-- -1 - <last offset> for a duplicate.
--@include generation
--@include healing
--@include queues
--@include empty
local log, meta, channel, keys, newest = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local maxRecords, maxBytes = tonumber(ARGV[2]), tonumber(ARGV[11])

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
local allowed = may('SPUBLISH', channel, '') and may('HGET', meta, 'e') and may('HSET', meta, 'e', '') and may('EXPIRE', meta, '1')
  and may('INFO', 'replication') and may('HDEL', meta, 'k')
local counts = maxBytes > 0
for i = 15, #ARGV, 6 do
  if ARGV[i + 1] ~= '' then counts = true end
  if ARGV[i] ~= '' and not (may('TIME') and may('ZSCORE', keys, '') and may('ZADD', keys, '0', '')
      and may('ZREMRANGEBYSCORE', keys, '0', '0') and may('ZREMRANGEBYRANK', keys, '0', '0')) then
    allowed = false
  end
end
local place = ARGV[9] ~= '' and placeOf(ARGV[9])
if place and not (may('HGET', KEYS[5], '') and may('HINCRBY', KEYS[5], '', '1') and may('HSET', KEYS[5], '', '')
    and may('HLEN', KEYS[5]) and may('HGETALL', KEYS[5]) and may('HDEL', KEYS[5], '') and may('EXPIRE', KEYS[5], '1')) then
  allowed = false
end
local REFUSED = 'NOPERM publishing needs INFO, HGET, HGETALL, HDEL, HSET, HINCRBY, HLEN, EXPIRE, DEL, TIME, ZSCORE, ZADD, '
  .. 'ZREMRANGEBYSCORE, ZREMRANGEBYRANK, GET, SET, XLEN, XRANGE, XREVRANGE, XDEL, XTRIM and SPUBLISH, on all keys and channels of inkcast'
if not allowed then return redis.error_reply(REFUSED) end

local epoch, offset, noted, current, bound, healing, from
local sequences = {}
local appended, binds, waits, begun = false, false, false, 0
local results = {''}
-- Stored counts of the log, and the functions that keep them (include/counting.lua); nil while it is not counted.
local stored, counting
local function createCounting ()
--@include counting
end

local function beginEpoch ()
  epoch, noted, bound, healing, from = ARGV[1], current, false, false, offset
  begun = begun + 1
  stored = beginEpochOf(meta, epoch, digits(offset), current, stored)
end

-- Begins another log: the records of the current one no longer have one source.
local function beginAnew ()
  redis.call('DEL', log)
  epoch, offset, noted, bound, healing, from = ARGV[1] .. (begun == 0 and '' or begun), 0, current, false, false, nil
  begun = begun + 1
  stored = nil
  if counting then counting.anew() end
  redis.call('HSET', meta, 'e', epoch, 'o', '0', 'g', current)
  redis.call('HDEL', meta, 'k')
end

local function open ()
  local found = redis.call('HMGET', meta, 'e', 'o', 'g', 'k', 'x', 'b')
  epoch, offset, noted, bound, current = found[1], tonumber(found[2]), found[3], found[4], generation()
  stored = found[5]
  if (stored or counts) and not (may('XLEN', log) and may('XRANGE', log, '-', '+') and may('XREVRANGE', log, '+', '-')
      and may('XDEL', log, '1-0') and may('XTRIM', log, 'MINID', '1-0') and may('HGETALL', newest) and may('HSET', newest, 'k', '1')
      and may('HDEL', newest, 'k') and may('EXPIRE', newest, '1') and may('DEL', newest)) then
    return redis.error_reply(REFUSED)
  end
  if not epoch or not offset then
    if not (may('GET', KEYS[7]) and may('SET', KEYS[7], '', 'EX', '1') and may('TIME')) then
      return redis.error_reply(REFUSED)
    end
    epoch, offset, bound = emptyEpoch(KEYS[7], current, ARGV[1]), 0, false
    return
  end
  if found[6] then
    local of, since = string.match(found[6], '^(%S+) (%d+)$')
    if of == epoch then from = tonumber(since) end
  end
  local state = stateOf(noted, bound, current, ARGV[7])
  if state == 'whole' then return end
  if state == 'ask' then return asksForMove(noted, current) end
  -- Entries of a call are from one Kafka partition, so one decision holds for all of them.
  if state == 'lost' or ARGV[12] ~= bound or ARGV[8] == '-' then return beginEpoch() end
  if state == 'waits' or ARGV[8] ~= current then return redis.error_reply('UNHEALED ' .. current) end
  healing = state == 'begun'
end

local function append (envelope, key)
  if not counting and (stored or maxBytes > 0 or key ~= '') then
    counting = createCounting()
  end
  local id = digits(offset + 1) .. '-0'
  local afterLoss = offset == from and offset > 0
  local added
  if counting then
    added = counting.append(id, envelope, key, afterLoss)
  elseif afterLoss then
    added = redis.pcall('XADD', log, 'MAXLEN', '~', ARGV[2], id, 'v', envelope, 'l', '1')
  else
    added = redis.pcall('XADD', log, 'MAXLEN', '~', ARGV[2], id, 'v', envelope)
  end
  if type(added) == 'table' and added.err then
    -- The stream is ahead of meta, which was lost (expired, evicted) or restored. Each further XADD would fail, so
    -- another log begins. Only the first entry of a call can get here, so no entry of this call is lost.
    if appended or not string.find(added.err, 'equal or smaller', 1, true) then return added end
    redis.call('DEL', log)
    epoch, offset, healing, from = ARGV[1], 0, false, nil
    if counting then
      counting.anew()
      counting.append('1-0', envelope, key)
    else
      redis.call('XADD', log, '1-0', 'v', envelope)
    end
  end
  offset = offset + 1
  appended = true
  if counting then counting.appended(envelope, key) end
end

-- The time of the keys, s: the wall clock, of which a step takes at most PAUSE from the lifetime of a key. It is noted
-- with each record that has a key ("<time of the keys> <wall time>"), so it is slow while these are further apart, and
-- the keys are known for longer.
local PAUSE = 60
local timeOfKeys, wall
local remembers = false
local function keyTime ()
  if not timeOfKeys then
    wall = now()
    local last, lastWall = string.match(redis.call('HGET', meta, 't') or '', '^(%S+) (%S+)$')
    timeOfKeys = last and tonumber(last) + math.max(0, math.min(wall - tonumber(lastWall), PAUSE)) or wall
  end
  return timeOfKeys
end

-- Each new key extends the lifetime of the set, so it may contain expired keys. During healing the question is whether
-- a key was known when its record was first published, at most MARGIN ago. Second result: true if that is undecidable.
-- A step of the clock by MARGIN does not end the lifetime of the set before that of its keys.
local MARGIN = 1000
local function isKnown (key)
  local at = redis.call('ZSCORE', keys, key)
  if at and tonumber(at) > keyTime() - tonumber(ARGV[5]) then return true end
  return false, at or redis.call('ZCARD', keys) >= tonumber(ARGV[6])
end

local function remember (key)
  local time = keyTime()
  redis.call('ZADD', keys, time, key)
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', time - tonumber(ARGV[5]) - MARGIN)
  redis.call('ZREMRANGEBYRANK', keys, 0, -1 - tonumber(ARGV[6]))
  redis.call('EXPIRE', keys, ARGV[5] + MARGIN)
  remembers = true
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

-- Binds the log to the source of its next record, if it may be. Records before this one count as given, so a log that
-- has lost records can be bound again. But not by a record that is read a second time: the mark of the source would then
-- promise the records up to it, which the log may lack.
local function bind (source, sequence)
  if source == '' or ARGV[8] == '-' or not (offset == 0 or from) then return end
  if isCovered(sequence, redis.call('GET', start() .. '{k:' .. source .. '}:mark')) then
    waits = not from
    from = from or 0
  else
    bound = source
    binds = true
  end
end

-- Before an ephemeral entry is sent, as the call may be refused.
for i = 14, #ARGV, 6 do
  if ARGV[i] ~= '1' then
    local failed = open()
    if failed then return failed end
    break
  end
end

for i = 12, #ARGV, 6 do
  local source, sequence, key, envelope = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 5]
  if ARGV[i + 2] == '1' then
    redis.call('SPUBLISH', channel, ':0:' .. envelope)
    results[#results + 1] = 0
  else
    local covered = source ~= '' and isCovered(sequence, sequences[source] or redis.call('HGET', meta, 's:' .. source))
    local known, unsure = false, false
    if place then known = wasQueued(KEYS[5], place) end
    if not covered and not known and key ~= '' then known, unsure = isKnown(key) end
    if covered or known then
      results[#results + 1] = -1 - offset
    else
      local mixed = bound and bound ~= source
      if mixed or (healing and unsure) then beginAnew() end
      -- a log that has had several sources stays unbound: otherwise each change of source would begin another epoch
      if not bound and not mixed then bind(source, sequence) end
      local failed = append(envelope, ARGV[i + 4])
      if failed then return failed end
      if key ~= '' then remember(key) end
      if place then
        local seconds, most = string.match(ARGV[10], '^(%d+) (%d+)$')
        noteQueued(KEYS[5], place, seconds, tonumber(most))
      end
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
  elseif waits then
    fields[#fields + 1] = 'b'
    fields[#fields + 1] = epoch .. ' 0'
  end
  if noted ~= current and not healing then
    fields[#fields + 1] = 'g'
    fields[#fields + 1] = current
  end
  if remembers then
    fields[#fields + 1] = 't'
    fields[#fields + 1] = string.format('%.6f %.6f', timeOfKeys, wall)
  end
  if counting then
    fields[#fields + 1] = 'x'
    fields[#fields + 1] = counting.text()
    redis.call('EXPIRE', newest, ARGV[3])
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

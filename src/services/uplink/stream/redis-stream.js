import { InkcastError } from '../../../base/common/errors.js'
import { MAX_QUEUES, QUEUE_MARK_TTL } from '../../../log/bus/contract.js'
import { Backoff, retry } from '../../../base/common/backoff.js'
import { NO_WAIT } from '../../../redis/durability/durability.js'
import { toInkcastError } from '../../../redis/errors.js'
import { hashSlot } from '../../../redis/hash-slot.js'
import { BATCH, FAILING, LEASE, LIMITS, MAX_REFUSED, PARTS } from './contract.js'

/** Entries of Redis within one ms that keep their order in a sequence. */
const PER_MS = 4096

/**
 * Ids of Redis are times: they grow also after the stream was lost, and with `latestTime` also if the clock of Redis
 * was set back meanwhile.
 * @param {string} id `<ms>-<number>`
 * @returns {number} below 2^53 until the year 2039
 */
function sequenceOf (id) {
  const [ms, number] = id.split('-').map(Number)
  return ms * PER_MS + number
}

/**
 * A record's part follows from its document; without a document from its user or connection. Exported for tests: which
 * records share a part.
 * @param {import('./contract.js').UplinkRecord} record
 * @returns {number}
 */
export const partOf = ({ guid, uid, sid }) => hashSlot(guid ?? uid ?? sid ?? '') % PARTS

/** @param {import('./contract.js').UplinkRecord} record @returns {string} all of it but the value */
const encodeHead = (record) => JSON.stringify({ ...record, value: undefined, asSent: undefined })

const full = () =>
  new InkcastError('unavailable', 'too many messages wait for the business service; try again later')
const serviceFails = () =>
  new InkcastError('unavailable', 'the business service has not accepted messages for some time; try again later')

/**
 * The stream in Redis. All keys of a part, the marks of clients' queues included, are in one hash slot of Redis
 * Cluster, so that a queued edit and its mark are written by one script.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../../redis/client.js').RedisConnection, 'client' | 'scripts' | 'channels' | 'keys'>}
 *   dependencies.redis
 * @param {import('../../../redis/durability/durability.js').Durability} [dependencies.durability] what `append` waits
 *   for
 * @param {readonly string[]} dependencies.groups
 * @param {string} [dependencies.name] of the stream; for tests
 * @param {{ records: number, bytes: number }} [dependencies.limits] per part
 * @param {import('../../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../base/common/random.js').Random} dependencies.random
 * @param {() => number} [dependencies.latestTime] the highest time that Redis may have reached, ms since 1970
 * @returns {import('./contract.js').UplinkStream}
 */
export function createRedisStream ({
  redis: { client, scripts, channels, keys: names }, durability = NO_WAIT, groups, name = 'uplink', limits = LIMITS,
  latestTime = () => 0, clock, random
}) {
  const keys = Array.from({ length: PARTS }, (_, part) => names.uplinkPart(name, part))
  /** A channel has one subscriber in a process. @type {Set<(part: number) => void>} */
  const watchers = new Set()
  let unsubscribe = () => {}

  function subscribe () {
    const ended = new AbortController()
    for (const [part, { channel }] of keys.entries()) {
      retry(() => channels.subscribe(channel, () => { for (const onAppended of watchers) onAppended(part) }), {
        signal: ended.signal, clock, backoff: new Backoff({ min: 100, max: 5000, random })
      }).catch(() => {}) // ended
    }
    return () => {
      ended.abort()
      for (const { channel } of keys) channels.unsubscribe(channel)
    }
  }

  return {
    groups,
    parts: PARTS,

    async append (record) {
      const part = partOf(record)
      const { log, meta, channel } = keys[part]
      const { guid = '', queue } = record
      return durability.confirmed([meta], async (scriptsOf = () => scripts) => {
        const result = await scriptsOf(meta).append(
          [log, meta, channel, queue ? names.uplinkQueueMarks(name, part, guid, queue.uid) : log],
          [
            encodeHead(record), record.value, limits.records, limits.bytes,
            queue === undefined ? '' : `${queue.number} ${queue.id}`, `${QUEUE_MARK_TTL} ${MAX_QUEUES}`,
            Math.floor(latestTime()), FAILING
          ]
        ).catch((error) => { throw toInkcastError(error) })
        if (result < 0) throw result === -1 ? full() : serviceFails()
        return { duplicate: result === 0 }
      })
    },

    async take (part, { group, holder }, { failing = false } = {}) {
      const [upTo, ...fields] = await scripts.take(
        [keys[part].log, keys[part].meta],
        [group, holder, LEASE, BATCH.records, BATCH.bytes, failing ? FAILING : 0]
      ).catch((error) => { throw toInkcastError(error) })
      if (upTo === undefined) return null
      const entries = []
      for (let i = 0; i < fields.length; i += 3) {
        const sequence = sequenceOf(String(fields[i]))
        const record = { ...JSON.parse(String(fields[i + 1])), value: fields[i + 2] }
        entries.push({ id: `${part}-${sequence}`, source: `/inkcast/uplink/${part}`, sequence, record })
      }
      return { entries, upTo: String(upTo) }
    },

    async done (part, { group, holder }, upTo) {
      const { log, meta } = keys[part]
      return await scripts.done([log, meta], [group, holder, upTo, ...groups])
        .catch((error) => { throw toInkcastError(error) }) === 1
    },

    async release (part, { group, holder }) {
      // without it the lease ends by itself
      await scripts.release([keys[part].meta], [group, holder]).catch(() => {})
    },

    async keepRefused (part, { id, record }, reason) {
      await client.xadd(
        keys[part].refused, 'MAXLEN', '~', MAX_REFUSED, '*', 'id', id, 'reason', reason, 'h', encodeHead(record), 'v', record.value
      ).catch((error) => { throw toInkcastError(error) })
    },

    watch (onAppended) {
      if (watchers.size === 0) unsubscribe = subscribe()
      watchers.add(onAppended)
      return () => { if (watchers.delete(onAppended) && watchers.size === 0) unsubscribe() }
    },

    async state () {
      const states = await Promise.all(keys.map(async ({ log, meta }) => {
        const [records, [total, freed]] = await Promise.all([client.xlen(log), client.hmget(meta, 'total', 'freed')])
        return { records, bytes: Number(total ?? 0) - Number(freed ?? 0) }
      })).catch((error) => { throw toInkcastError(error) })
      return {
        records: states.reduce((sum, { records }) => sum + records, 0),
        bytes: states.reduce((sum, { bytes }) => sum + bytes, 0)
      }
    }
  }
}

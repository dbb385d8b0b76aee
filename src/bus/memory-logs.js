import { newEpoch } from '../wire/position.js'
import { IDEMPOTENCY } from './contract.js'
import { isCovered } from './origin.js'

/**
 * The logs of documents in memory, with the same bounds as in Redis: `size` records per document, all dropped `ttl`
 * seconds after the last one. The position of a document outlives its records.
 *
 * @typedef {import('./contract.js').BusRecord} BusRecord
 * @typedef {import('./contract.js').PublishEntry} PublishEntry
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @typedef {object} DocumentLog
 * @property {string} epoch
 * @property {number} offset
 * @property {BusRecord[]} records the last ones, without a hole
 * @property {number} bytes of their values
 * @property {number} appendedAt monotonic ms
 * @property {Map<string, import('./origin.js').Origin>} origins the newest of each source; a document has as many
 *   sources as its key had partitions
 * @property {Map<string, number>} keys idempotency keys of its last records with the time of their expiry, monotonic
 *   ms; the oldest first
 * @property {Map<string, number>} queues the last number accepted of each client's queue, the least recently used first
 */

/** Maximum queues of clients per document. */
const MAX_QUEUES = 10_000

/**
 * @param {object} settings
 * @param {{ size: number, ttl: number }} settings.history records per document, and seconds they are kept after the
 *   last one
 * @param {import('./contract.js').Idempotency} [settings.idempotency] for tests
 * @param {import('../common/clock.js').Clock} settings.clock
 * @param {number} [settings.maxDocuments] above it the least recently used document is dropped; it gets a new epoch
 *   when it is used again
 * @param {number} [settings.maxBytes] of all values; above it the records of the least recently used documents are
 *   dropped
 */
export function createMemoryLogs ({
  history, idempotency = IDEMPOTENCY, clock, maxDocuments = 100_000,
  maxBytes = 256 * 2 ** 20
}) {
  /** @type {Map<string, DocumentLog>} least recently used first */
  const logs = new Map()
  let bytes = 0

  /** @param {DocumentLog} log */
  function dropRecords (log) {
    bytes -= log.bytes
    log.bytes = 0
    log.records = []
  }

  /** @param {DocumentLog} log */
  function dropOldest (log) {
    const dropped = /** @type {BusRecord} */ (log.records.shift()).publication.value.length
    log.bytes -= dropped
    bytes -= dropped
  }

  /** @param {DocumentLog} log */
  const expired = (log) => log.records.length > 0 && clock.monotonic() - log.appendedAt >= history.ttl * 1000

  /**
   * @param {string} guid
   * @returns {DocumentLog} created if it does not exist; now the most recently used one
   */
  function use (guid) {
    let log = logs.get(guid)
    if (log === undefined) {
      log = {
        epoch: newEpoch(), offset: 0, records: [], bytes: 0, appendedAt: 0,
        origins: new Map(), keys: new Map(), queues: new Map()
      }
      if (logs.size >= maxDocuments) {
        const [oldest, forgotten] = /** @type {[string, DocumentLog]} */ (logs.entries().next().value)
        dropRecords(forgotten)
        logs.delete(oldest)
      }
    } else {
      logs.delete(guid)
      if (expired(log)) dropRecords(log)
    }
    logs.set(guid, log)
    return log
  }

  /** Makes room: drops records of the least recently used documents, then the oldest of the current document. */
  function keepWithinBytes () {
    for (const log of logs.values()) {
      if (bytes <= maxBytes) return
      while (bytes > maxBytes && log.records.length > 0) dropOldest(log)
    }
  }

  return {
    /**
     * @param {string} guid
     * @param {PublishEntry} entry
     * @returns {{ position: Position, record: BusRecord | null }} null for a duplicate
     */
    append (guid, { publication, origin, queue }) {
      const log = use(guid)
      if (queue !== undefined && !noteQueued(log.queues, queue)) return { position: positionOf(log), record: null }
      if (origin !== undefined) {
        if (isCovered(origin, log.origins.get(origin.source))) return { position: positionOf(log), record: null }
        log.origins.set(origin.source, origin)
      }
      const now = clock.monotonic()
      if (publication.idempotencyKey !== undefined && !isNew(log.keys, publication.idempotencyKey, now, idempotency))
        return { position: positionOf(log), record: null }
      const record = { epoch: log.epoch, offset: ++log.offset, publication, ingestedAt: clock.now() }
      log.records.push(record)
      log.appendedAt = now
      log.bytes += publication.value.length
      bytes += publication.value.length
      if (log.records.length > history.size) dropOldest(log)
      keepWithinBytes()
      return { position: positionOf(log), record }
    },

    /** @param {string} guid @returns {Position} of a log that exists from now on */
    open (guid) {
      return positionOf(use(guid))
    },

    /** @param {string} guid @returns {Position | null} */
    end (guid) {
      const log = logs.get(guid)
      return log === undefined ? null : positionOf(log)
    },

    /**
     * @param {string} guid
     * @param {Position} since
     * @param {number} limit
     * @returns {import('./contract.js').History}
     */
    read (guid, since, limit) {
      const log = use(guid)
      const position = positionOf(log)
      const possible = Number.isInteger(since.offset) && since.offset >= 0 && since.offset <= log.offset
      if (since.epoch !== log.epoch || !possible) return { position, records: [], gap: 'epoch' }
      const begin = log.offset - log.records.length
      if (since.offset < begin) return { position, records: [], gap: 'trimmed' }
      return { position, records: log.records.slice(since.offset - begin, since.offset - begin + limit), gap: null }
    },

    /** @param {string} guid @param {Position} upTo @returns {{ position: Position, removed: number } | null} */
    cut (guid, { epoch, offset }) {
      const log = logs.get(guid)
      if (log === undefined || log.epoch !== epoch || offset > log.offset) return null
      const removed = Math.max(0, Math.min(log.records.length, log.records.length - (log.offset - offset)))
      for (let i = 0; i < removed; i++) dropOldest(log)
      return { position: positionOf(log), removed }
    },

    /** @param {string} guid @param {string} queue */
    queuedUpTo: (guid, queue) => logs.get(guid)?.queues.get(queue) ?? 0,

    /** @param {string} guid @param {import('./contract.js').QueuePlace} place */
    noteQueued (guid, place) { noteQueued(use(guid).queues, place) },

    /** Frees expired records. */
    sweep () {
      for (const log of logs.values()) if (expired(log)) dropRecords(log)
    },

    get documents () {
      return logs.size
    },
    get bytes () {
      return bytes
    }
  }
}

/**
 * @param {Map<string, number>} keys gets the key, if it is new
 * @param {string} key
 * @param {number} now
 * @param {import('./contract.js').Idempotency} idempotency
 */
function isNew (keys, key, now, idempotency) {
  for (const [oldest, until] of keys) {
    if (until > now && keys.size < idempotency.keys) break
    keys.delete(oldest)
  }
  if (keys.has(key)) return false
  keys.set(key, now + idempotency.ttl * 1000)
  return true
}

/**
 * @param {Map<string, number>} queues
 * @param {import('./contract.js').QueuePlace} place
 * @returns {boolean} false: it, or a later one, was accepted before
 */
function noteQueued (queues, { id, number }) {
  if ((queues.get(id) ?? 0) >= number) return false
  queues.delete(id)
  if (queues.size >= MAX_QUEUES) queues.delete(/** @type {string} */ (queues.keys().next().value))
  queues.set(id, number)
  return true
}

/** @param {DocumentLog} log @returns {Position} a copy: the caller may keep and change it */
const positionOf = ({ epoch, offset }) => ({ epoch, offset })

import { newEpoch } from '../wire/position.js'
import { HISTORY, IDEMPOTENCY } from './contract.js'
import { isCovered } from './origin.js'
import { QueueMarks } from './queue-marks.js'

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
 * @property {BusRecord[]} records in order; those replaced by newer ones of their key are missing
 * @property {number} base offset up to which records were removed from the beginning
 * @property {Map<string, number>} newest offset of the newest record of each key
 * @property {number} bytes of their values
 * @property {number} appendedAt monotonic ms
 * @property {Map<string, import('./origin.js').Origin>} origins the newest of each source; a document has as many
 *   sources as its key had partitions
 * @property {Map<string, number>} keys idempotency keys of its last records with the time of their expiry, monotonic
 *   ms; the oldest first
 * @property {QueueMarks} queues the last number accepted of each client's queue
 */

/**
 * @param {object} settings
 * @param {import('./contract.js').HistoryLimits} [settings.history] of all documents, if there is no `historyOf`
 * @param {import('./contract.js').HistoryOf} [settings.historyOf]
 * @param {import('./contract.js').Idempotency} [settings.idempotency] for tests
 * @param {import('../common/clock.js').Clock} settings.clock
 * @param {number} [settings.maxDocuments] above it the least recently used document is dropped; it gets a new epoch
 *   when it is used again
 * @param {number} [settings.maxBytes] of all values; above it the records of the least recently used documents are
 *   dropped
 */
export function createMemoryLogs ({
  history = HISTORY, historyOf = () => history, idempotency = IDEMPOTENCY, clock, maxDocuments = 100_000,
  maxBytes = 256 * 2 ** 20
}) {
  /** @type {Map<string, DocumentLog>} least recently used first */
  const logs = new Map()
  let bytes = 0
  /** Of documents without a record: the first one of a document takes it over. No document gets an epoch twice. */
  let emptyEpoch = newEpoch()

  /** @param {DocumentLog} log */
  function dropRecords (log) {
    bytes -= log.bytes
    log.bytes = 0
    log.records = []
    log.base = log.offset
    log.newest.clear()
  }

  /** @param {DocumentLog} log */
  function dropOldest (log) {
    const { offset, publication: { key, value } } = /** @type {BusRecord} */ (log.records.shift())
    log.bytes -= value.length
    bytes -= value.length
    log.base = offset
    if (key !== undefined && log.newest.get(key) === offset) log.newest.delete(key)
  }

  /** Removes the record that the last one replaces. @param {DocumentLog} log @param {string} key */
  function replace (log, key) {
    const before = log.newest.get(key)
    log.newest.set(key, log.offset)
    if (before === undefined) return
    const [{ publication: { value } }] = log.records.splice(indexAfter(log, before - 1), 1)
    log.bytes -= value.length
    bytes -= value.length
  }

  /** @param {string} guid @param {DocumentLog} log */
  const expired = (guid, log) =>
    log.records.length > 0 && clock.monotonic() - log.appendedAt >= historyOf(guid).ttl * 1000

  /**
   * @param {string} guid
   * @returns {DocumentLog} created if it does not exist; now the most recently used one
   */
  function use (guid) {
    let log = logs.get(guid)
    if (log === undefined) {
      log = {
        epoch: emptyEpoch, offset: 0, records: [], base: 0, newest: new Map(), bytes: 0, appendedAt: 0,
        origins: new Map(), keys: new Map(), queues: new QueueMarks()
      }
      if (logs.size >= maxDocuments) {
        const [oldest, forgotten] = /** @type {[string, DocumentLog]} */ (logs.entries().next().value)
        dropRecords(forgotten)
        logs.delete(oldest)
        if (forgotten.epoch === log.epoch) log.epoch = emptyEpoch = newEpoch()
      }
    } else {
      logs.delete(guid)
      if (expired(guid, log)) dropRecords(log)
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
      if (queue !== undefined && !log.queues.note(queue)) return { position: positionOf(log), record: null }
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
      const limits = historyOf(guid)
      if (limits.keys !== false && publication.key !== undefined) replace(log, publication.key)
      while (isAbove(log, limits)) dropOldest(log)
      keepWithinBytes()
      return { position: positionOf(log), record }
    },

    /** @param {string} guid @returns {Position} of a log that exists from now on */
    open (guid) {
      return positionOf(use(guid))
    },

    /** @param {string} guid @returns {Position} */
    end: (guid) => positionOf(logs.get(guid) ?? { epoch: emptyEpoch, offset: 0 }),

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
      if (since.offset < log.base) return { position, records: [], gap: 'trimmed' }
      const begin = indexAfter(log, since.offset)
      let before = since.offset
      const records = log.records.slice(begin, begin + limit).map((record) => {
        const after = before
        before = record.offset
        return record.offset === after + 1 ? record : { ...record, after }
      })
      return { position, records, gap: null }
    },

    /** @param {string} guid @param {Position} upTo @returns {{ position: Position, removed: number } | null} */
    cut (guid, { epoch, offset }) {
      const log = logs.get(guid)
      if (log === undefined || log.epoch !== epoch || offset > log.offset) return null
      const removed = indexAfter(log, offset)
      for (let i = 0; i < removed; i++) dropOldest(log)
      log.base = Math.max(log.base, offset)
      return { position: positionOf(log), removed }
    },

    /** @param {string} guid @param {import('./contract.js').QueueId} queue */
    queuedUpTo: (guid, queue) => logs.get(guid)?.queues.upTo(queue) ?? 0,

    /** @param {string} guid @param {import('./contract.js').QueuePlace} place */
    noteQueued (guid, place) { use(guid).queues.note(place) },

    /** Frees expired records. */
    sweep () {
      for (const [guid, log] of logs) if (expired(guid, log)) dropRecords(log)
    },

    get documents () {
      return logs.size
    },
    get bytes () {
      return bytes
    }
  }
}

/** @param {DocumentLog} log @param {import('./contract.js').HistoryLimits} limits */
const isAbove = ({ records: { length }, bytes }, limits) =>
  length > limits.size || (limits.bytes ? bytes > limits.bytes && length > 1 : false)

/** @param {DocumentLog} log @param {number} offset @returns {number} index of the first record after an offset */
function indexAfter ({ records, offset: last }, offset) {
  // without holes it is where it is counted from the end
  const counted = Math.max(0, records.length - (last - offset))
  if (counted < records.length && records[counted].offset === offset + 1) return counted
  let low = 0
  let high = records.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (records[middle].offset <= offset) low = middle + 1
    else high = middle
  }
  return low
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

/** @param {Position} log @returns {Position} a copy: the caller may keep and change it */
const positionOf = ({ epoch, offset }) => ({ epoch, offset })

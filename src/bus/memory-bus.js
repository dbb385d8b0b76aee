import { InkcastError } from '../common/errors.js'
import { isOrder, logOf } from '../wire/publication.js'
import { workerOfSid } from '../wire/session-id.js'
import { oneLane } from './contract.js'
import { createMemoryLogs } from './memory-logs.js'
import { Orders } from './orders.js'

/**
 * The bus of the embedded mode: its data lives in one process and is lost when the process ends.
 *
 * `publish` appends before it returns, so calls take effect in their order. Delivery follows in one batch per turn of
 * the event loop (`soon`), so that a handler never runs inside of `publish` and a burst reaches the workers as a
 * burst. The queue in between holds the publications of one turn and is always emptied completely.
 *
 * @typedef {import('./contract.js').Bus} Bus
 * @typedef {import('./contract.js').BusHandlers} BusHandlers
 * @typedef {import('./contract.js').PublishEntry} PublishEntry
 * @typedef {import('./contract.js').Published} Published
 *
 * @typedef {object} Attached
 * @property {number | undefined} workerNumber
 * @property {Set<string>} guids subscribed; bounded by the number of feeds
 * @property {Set<string>} uids bounded by the number of connections
 * @property {<T>(deliver: (handlers: BusHandlers) => T) => T | undefined} call
 */

/** Maximum number of users with orders. Orders are kept for seven days; above the maximum the oldest are dropped. */
const MAX_ORDERED_USERS = 100_000
/** Interval at which expired records are freed, ms. */
const SWEEP_INTERVAL = 10_000

/**
 * The logs that the buses of one process share, and the queue of deliveries between these buses.
 *
 * @param {object} settings
 * @param {import('./contract.js').HistoryLimits} [settings.history] of all documents, if there is no `historyOf`
 * @param {import('./contract.js').HistoryOf} [settings.historyOf]
 * @param {import('./contract.js').Idempotency} [settings.idempotency] see createMemoryLogs
 * @param {import('../common/clock.js').Clock} settings.clock
 * @param {number} [settings.maxDocuments] see createMemoryLogs
 * @param {number} [settings.maxBytes] see createMemoryLogs
 */
export function createMemoryHub ({ history, historyOf, idempotency, clock, maxDocuments, maxBytes }) {
  const logs = createMemoryLogs({ history, historyOf, idempotency, clock, maxDocuments, maxBytes })
  const orders = new Orders(clock, MAX_ORDERED_USERS)
  /** @type {Set<Attached>} */
  const buses = new Set()
  /** @type {(() => void)[]} */
  let queue = []
  /** @type {import('../common/clock.js').Timer | undefined} */
  let sweeper

  function drain () {
    const deliveries = queue
    queue = []
    for (const deliver of deliveries) deliver()
  }

  /** @param {() => void} deliver */
  function later (deliver) {
    if (queue.push(deliver) === 1) clock.soon(drain)
  }

  return {
    logs,
    orders,

    /** @param {Attached} bus */
    attach (bus) {
      buses.add(bus)
      sweeper ??= clock.every(SWEEP_INTERVAL, () => {
        logs.sweep()
        orders.sweep(clock.now())
      }).unref()
    },

    /** @param {Attached} bus */
    detach (bus) {
      buses.delete(bus)
      if (buses.size > 0) return
      sweeper?.stop()
      sweeper = undefined
    },

    /**
     * @param {string} guid
     * @param {import('./contract.js').BusRecord} record
     */
    toDocument (guid, record) {
      for (const bus of buses) {
        // checked twice: the document must be subscribed now and also at the time of delivery
        if (bus.guids.has(guid))
          later(() => {
            if (bus.guids.has(guid)) bus.call((handlers) => handlers.onRecord(record))
          })
      }
    },

    /**
     * @param {import('../wire/publication.js').Publication} publication
     * @param {number} at ms since 1970
     * @param {(bus: Attached) => boolean} reaches
     * @returns {Promise<number>[]} for each worker: connections that an order was carried out for
     */
    toWorkers (publication, at, reaches) {
      return [...buses].filter((bus) => bus.workerNumber !== undefined && reaches(bus)).map((bus) =>
        new Promise((resolve) => {
          later(() => resolve(bus.call((handlers) => handlers.onDirect(publication, undefined, at))))
        }).then((count) => Number(count) || 0, () => 0)
      )
    }
  }
}

/**
 * @param {object} dependencies
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.workerNumber] undefined: this bus only publishes
 * @param {ReturnType<typeof createMemoryHub>} dependencies.hub
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @returns {Bus}
 */
export function createMemoryBus ({ log, metrics, workerNumber, hub, clock }) {
  const { logs } = hub
  let running = false
  /** @type {BusHandlers | undefined} */
  let handlers

  /** @type {Attached} */
  const self = {
    workerNumber,
    guids: new Set(),
    uids: new Set(),
    call (deliver) {
      if (!running || handlers === undefined) return undefined
      try {
        return deliver(handlers)
      } catch (error) {
        metrics.bus_errors.inc({ operation: 'deliver' })
        log.error({ err: error }, 'the handler of a publication failed')
        return undefined
      }
    }
  }

  function assertRunning () {
    if (!running) throw new InkcastError('unavailable', 'the bus is stopped')
  }

  /** @param {PublishEntry} entry @returns {Published} */
  function toDocument (entry) {
    const { publication } = entry
    const guid = /** @type {string} */ (logOf(publication))
    if (publication.ephemeral) {
      hub.toDocument(guid, { epoch: '', offset: 0, publication, ingestedAt: clock.now() })
      return { position: null, duplicate: false }
    }
    const { position, record } = logs.append(guid, entry)
    if (record !== null) hub.toDocument(guid, record)
    return { position, duplicate: record === null }
  }

  /** @param {PublishEntry} entry @returns {Published | Promise<Published>} */
  function toWorkers ({ publication }) {
    const { operator, uid, sid } = publication
    const now = clock.now()
    if (uid !== undefined && (operator === 'revoke' || operator === 'restore' || (operator === 'kick' && !sid)))
      hub.orders.noteOrder({ ...publication, uid }, now)
    const owner = sid === undefined ? undefined : workerOfSid(sid)
    const toUser = operator === 'user' || operator === 'revoke' || operator === 'restore' || sid === undefined
    const reached = hub.toWorkers(publication, now, (bus) => {
      if (operator === 'everyone' || operator === 'close') return true
      return toUser ? uid !== undefined && bus.uids.has(uid) : bus.workerNumber === owner
    })
    return isOrder(publication) ? carriedOut(reached) : { position: null, duplicate: false }
  }

  /** @param {Promise<number>[]} reached @returns {Promise<Published>} */
  async function carriedOut (reached) {
    const counts = await Promise.all(reached)
    return {
      position: null,
      duplicate: false,
      carriedOut: {
        connections: counts.reduce((sum, count) => sum + count, 0),
        workers: counts.filter((count) => count > 0).length
      }
    }
  }

  /** @param {PublishEntry} entry @returns {Promise<Published>} */
  async function toLogAndWorkers (entry) {
    const published = toDocument(entry)
    if (!published.duplicate) await toWorkers(entry)
    return published
  }

  /** @param {PublishEntry} entry @returns {Published | Promise<Published>} */
  function carry (entry) {
    const { operator, keep } = entry.publication
    if (operator === 'broadcast') return toDocument(entry)
    return keep ? toLogAndWorkers(entry) : toWorkers(entry)
  }

  return {
    async start (receivers) {
      handlers = receivers
      running = true
      hub.attach(self)
    },

    async stop () {
      running = false
      hub.detach(self)
    },

    async publish (entries) {
      assertRunning()
      if (entries.length === 0) return []
      oneLane(entries)
      return Promise.all(entries.map(carry))
    },

    async subscribe (guid) {
      assertRunning()
      self.guids.add(guid)
      return logs.open(guid)
    },

    async unsubscribe (guid) { self.guids.delete(guid) },

    async history (guid, since, limit) {
      assertRunning()
      return logs.read(guid, since, limit)
    },

    async cut (guid, upTo) {
      assertRunning()
      return logs.cut(guid, upTo)
    },

    async queuedUpTo (guid, queue) {
      assertRunning()
      return logs.queuedUpTo(guid, queue)
    },

    async noteQueued (guid, place) {
      assertRunning()
      logs.noteQueued(guid, place)
    },

    async positions (guids) {
      assertRunning()
      return guids.map((guid) => logs.end(guid))
    },

    async addUser (uid) {
      assertRunning()
      self.uids.add(uid)
      const orders = hub.orders.of(uid)
      if (orders.length === 0) return
      // handlers are never called synchronously (contract.js)
      await undefined
      self.call((handlers) => handlers.onOrders(uid, orders))
    },

    async removeUser (uid) { self.uids.delete(uid) }
  }
}

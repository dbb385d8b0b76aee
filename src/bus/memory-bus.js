import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { workerOfSid } from '../wire/session-id.js'
import { oneLane } from './contract.js'
import { createMemoryLogs } from './memory-logs.js'
import { orderName, Orders } from './orders.js'

/**
 * The bus of the embedded mode: its data lives in one process and is lost when the process ends.
 *
 * `publish` appends before it returns, so calls take effect in their order. Delivery follows in one batch per turn of
 * the event loop (setImmediate), so that a handler never runs inside of `publish` and a burst reaches the workers as a
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
 * @property {(deliver: (handlers: BusHandlers) => void) => void} call
 */

/** Maximum number of users with orders. Orders are kept for seven days; above the maximum the oldest are dropped. */
const MAX_ORDERED_USERS = 100_000
/** Interval at which expired records are freed, ms. */
const SWEEP_INTERVAL = 10_000

/**
 * The logs that the buses of one process share, and the queue of deliveries between these buses.
 *
 * @param {object} settings
 * @param {{ size: number, ttl: number }} settings.history records kept per document, and seconds after its last one
 * @param {import('./contract.js').Idempotency} [settings.idempotency] see createMemoryLogs
 * @param {import('../common/clock.js').Clock} [settings.clock]
 * @param {number} [settings.maxDocuments] see createMemoryLogs
 * @param {number} [settings.maxBytes] see createMemoryLogs
 */
export function createMemoryHub ({ history, idempotency, clock = systemClock, maxDocuments, maxBytes }) {
  const logs = createMemoryLogs({ history, idempotency, clock, maxDocuments, maxBytes })
  const orders = new Orders(MAX_ORDERED_USERS)
  /** @type {Set<Attached>} */
  const buses = new Set()
  /** @type {(() => void)[]} */
  let queue = []
  /** @type {NodeJS.Timeout | undefined} */
  let sweeper

  function drain () {
    const deliveries = queue
    queue = []
    for (const deliver of deliveries) deliver()
  }

  /** @param {() => void} deliver */
  function later (deliver) {
    if (queue.push(deliver) === 1) setImmediate(drain)
  }

  return {
    logs,
    orders,

    /** @param {Attached} bus */
    attach (bus) {
      buses.add(bus)
      sweeper ??= setInterval(() => {
        logs.sweep()
        orders.sweep(clock.now())
      }, SWEEP_INTERVAL).unref()
    },

    /** @param {Attached} bus */
    detach (bus) {
      buses.delete(bus)
      if (buses.size > 0) return
      clearInterval(sweeper)
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
     */
    toWorkers (publication, at, reaches) {
      for (const bus of buses) {
        if (bus.workerNumber !== undefined && reaches(bus))
          later(() => bus.call((handlers) => handlers.onDirect(publication, undefined, at)))
      }
    }
  }
}

/**
 * @param {object} dependencies
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.workerNumber] undefined: this bus only publishes
 * @param {ReturnType<typeof createMemoryHub>} dependencies.hub
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @returns {Bus}
 */
export function createMemoryBus ({ log, metrics, workerNumber, hub, clock = systemClock }) {
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
      if (!running || handlers === undefined) return
      try {
        deliver(handlers)
      } catch (error) {
        metrics.bus_errors.inc({ operation: 'deliver' })
        log.error({ err: error }, 'the handler of a publication failed')
      }
    }
  }

  function assertRunning () {
    if (!running) throw new InkcastError('unavailable', 'the bus is stopped')
  }

  /** @param {PublishEntry} entry @returns {Published} */
  function toDocument (entry) {
    const { publication } = entry
    const guid = /** @type {string} */ (publication.guid)
    if (publication.ephemeral) {
      hub.toDocument(guid, { epoch: '', offset: 0, publication, ingestedAt: clock.now() })
      return { position: null, duplicate: false }
    }
    const { position, record } = logs.append(guid, entry)
    if (record !== null) hub.toDocument(guid, record)
    return { position, duplicate: record === null }
  }

  /** @param {PublishEntry} entry @returns {Published} */
  function toWorkers ({ publication }) {
    const { operator, uid, sid } = publication
    const now = clock.now()
    if (operator === 'everyone') {
      hub.toWorkers(publication, now, () => true)
    } else if (sid !== undefined && (operator === 'socket' || operator === 'kick')) {
      const owner = workerOfSid(sid)
      hub.toWorkers(publication, now, (bus) => bus.workerNumber === owner)
    } else if (uid !== undefined) {
      if (operator !== 'user') hub.orders.note(uid, orderName(publication), now)
      hub.toWorkers(publication, now, (bus) => bus.uids.has(uid))
    }
    return { position: null, duplicate: false }
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
      const { operator } = oneLane(entries)
      return entries.map(operator === 'broadcast' ? toDocument : toWorkers)
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

import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { workerOfSid } from '../wire/session-id.js'
import { oneLane } from './contract.js'
import { createMemoryLogs } from './memory-logs.js'
import { orderName, Orders } from './orders.js'

/**
 * The bus of the embedded mode: within one process, nothing survives it.
 *
 * `publish` appends before it returns, so calls take effect in their order. Delivery comes later, all of one turn of
 * the event loop together (setImmediate), so that a handler never runs inside of `publish` and a burst reaches the
 * workers as a burst. The queue in between holds what is published within one turn and is always emptied whole.
 *
 * @typedef {import('./contract.js').Bus} Bus
 * @typedef {import('./contract.js').BusHandlers} BusHandlers
 * @typedef {import('./contract.js').Entry} Entry
 * @typedef {import('./contract.js').Published} Published
 *
 * @typedef {object} Attached
 * @property {number | undefined} workerNumber
 * @property {Set<string>} guids subscribed; bounded by what the feeds hold
 * @property {Set<string>} uids bounded by the connections
 * @property {(deliver: (handlers: BusHandlers) => void) => void} call
 */

/** Users about whom orders are kept; they are for seven days, the oldest go first. */
const MAX_ORDERED_USERS = 100_000
/** Records whose time is over are freed so often, ms. */
const SWEEP_INTERVAL = 10_000

/**
 * What the buses of one process share: the logs and the way between them.
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
        // looked at twice: it has to be subscribed now, and still when the record arrives
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
 * @param {number} [dependencies.workerNumber] undefined: this one only publishes
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
        log.error({ err: error }, 'a publication could not be handled')
      }
    }
  }

  function assertRunning () {
    if (!running) throw new InkcastError('unavailable', 'the bus is stopped')
  }

  /** @param {Entry} entry @returns {Published} */
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

  /** @param {Entry} entry @returns {Published} */
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

    async positions (guids) {
      assertRunning()
      return guids.map((guid) => logs.end(guid))
    },

    async addUser (uid) {
      assertRunning()
      self.uids.add(uid)
      const orders = hub.orders.of(uid)
      if (orders.length === 0) return
      // handlers are never called from within a call
      await undefined
      self.call((handlers) => handlers.onOrders(uid, orders))
    },

    async removeUser (uid) { self.uids.delete(uid) }
  }
}

import { MAX_WATCHES, Watches } from './watches.js'
import { Collector } from './collector.js'
import { describe, round, Trace } from './writes.js'

/**
 * What one process tells the watches about the records and connections it handles. Hot paths read `active` and call
 * nothing while it is false, that is, while there is no watch on any machine. Values of records are never told.
 *
 * @typedef {import('./contract.js').InspectEvent} InspectEvent
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('./writes.js').Client & { transport: string, conn: any }} Connection
 * @typedef {{ now: number, at: number }} When monotonic, and ms since 1970
 * @typedef {{ trace?: Trace }} Message
 * @typedef {object} Delivery
 * @property {Trace | null} [trace] null: there is no watch for it
 * @property {Publication} [publication] absent: an event of presence
 * @property {{ offset?: number }} [meta]
 * @property {(codec: import('../wire/packet.js').Codec) => Message[]} messages
 */

/** Interval of batches and of the search for ended leases, ms. */
const EVERY = 200
/** Watched deliveries that wait for one client; further ones are not reported when they are written. */
const MAX_QUEUED = 1000
/** @type {readonly string[]} */
const NONE = []

export class Inspector {
  /** Whether there is a watch. */
  active = false
  #watches = new Watches()
  /** Records that wait for a client, by Engine.IO's socket. @type {WeakMap<object, Trace[]>} */
  #queued = new WeakMap()
  /** Traces with events that are not sent. @type {Set<Trace>} */
  #open = new Set()
  /** @type {import('../common/clock.js').Timer | undefined} */
  #timer
  #collector
  #transport
  #process
  #host
  #metrics
  #log
  #clock

  /**
   * @param {object} dependencies
   * @param {import('./contract.js').InspectTransport} dependencies.transport started and stopped with it
   * @param {string} dependencies.process its name, `gateway-0`
   * @param {string} dependencies.host
   * @param {Pick<import('../metrics/metrics.js').Metrics, 'inspect_watches' | 'inspect_events' | 'onCollect'>}
   *   dependencies.metrics
   * @param {import('../common/log.js').Log} dependencies.log
   * @param {Pick<import('../common/clock.js').Clock, 'now' | 'monotonic' | 'every'>} dependencies.clock
   */
  constructor ({ transport, process, host, metrics, log, clock }) {
    this.#collector = new Collector(clock)
    this.#transport = transport
    this.#process = process
    this.#host = host
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
    metrics.onCollect(() => metrics.inspect_watches.set(this.#watches.size))
  }

  start () { return this.#transport.start((watch) => this.#note(watch)) }

  stop () {
    this.#timer?.stop()
    this.#timer = undefined
    this.active = false
    this.#watches.clear()
    return this.#transport.stop()
  }

  /** Whether there may be no further watch. */
  get full () { return this.#watches.size >= MAX_WATCHES }

  /** @param {import('./contract.js').Watch} watch */
  #note (watch) {
    const isNew = this.#watches.note(watch, this.#clock.monotonic())
    if (isNew) this.#tell([watch.id], 'watching', {})
    this.#update()
  }

  #update () {
    this.active = this.#watches.size > 0
    if (this.active) {
      this.#timer ??= this.#clock.every(EVERY, () => this.#tick()).unref()
      return
    }
    this.#timer?.stop()
    this.#timer = undefined
  }

  #tick () {
    for (const trace of this.#open) trace.sent()
    this.#open.clear()
    this.#watches.expire(this.#clock.monotonic())
    for (const { id, events, leftOut } of this.#collector.take((id) => this.#watches.has(id))) {
      this.#metrics.inspect_events.inc({ result: 'left_out' }, leftOut)
      this.#transport.send(id, { process: this.#process, host: this.#host, events }).then(
        () => this.#metrics.inspect_events.inc({ result: 'sent' }, events.length),
        (error) => {
          this.#metrics.inspect_events.inc({ result: 'left_out' }, events.length)
          this.#log.debug({ err: error }, 'events of the inspector could not be sent')
        }
      )
    }
    this.#update()
  }

  /**
   * @param {readonly string[]} ids
   * @param {import('./contract.js').Hop} hop
   * @param {Partial<InspectEvent>} event
   */
  #tell (ids, hop, event) {
    if (ids.length > 0) this.#collector.add(ids, { at: this.#clock.now(), hop, ...event })
  }

  /**
   * A process has published entries on the bus.
   * @param {readonly import('../bus/contract.js').PublishEntry[]} entries
   * @param {readonly import('../bus/contract.js').Published[]} published
   * @param {number} from when it began, ms since 1970
   */
  published (entries, published, from) {
    const at = this.#clock.now()
    entries.forEach(({ publication, origin }, i) => {
      const ids = this.#watches.of(publication)
      if (ids.length === 0) return
      const described = describe(publication)
      const { timestamp, source } = publication
      this.#collector.add(ids, { at: timestamp, hop: 'produced', ...described, ...(source !== undefined && { source }) })
      this.#collector.add(ids, {
        at: from,
        hop: 'ingested',
        ...described,
        ms: Math.max(0, from - timestamp),
        ...(origin && { details: { source: origin.source, offset: origin.sequence } })
      })
      const { position, duplicate } = published[i]
      this.#collector.add(ids, {
        at,
        hop: duplicate ? 'duplicate' : position === null ? 'published' : 'logged',
        ...described,
        ms: Math.max(0, at - from),
        ...position
      })
    })
  }

  /**
   * A publication was refused for good.
   * @param {{ guid?: string, uid?: string, traceId?: string }} subject
   * @param {string} reason error code
   * @param {{ topic: string, partition: number, offset: number }} [record] that went to the dead letters
   */
  refused ({ guid, uid, traceId }, reason, record) {
    const subject = { guid, uid, traceId }
    this.#tell(this.#watches.of(subject), record === undefined ? 'refused' : 'dead_letter', {
      ...subject, reason, ...(record && { details: record })
    })
  }

  /**
   * A worker has received a record, or a direct publication.
   * @param {Publication} publication
   * @param {{ epoch?: string, offset?: number, ingestedAt?: number }} [record]
   */
  received (publication, { epoch, offset, ingestedAt } = {}) {
    const ids = this.#watches.of(publication)
    if (ids.length === 0) return
    const at = this.#clock.now()
    this.#collector.add(ids, {
      at,
      hop: 'received',
      ...describe(publication),
      ...(offset ? { epoch, offset } : {}),
      ...(ingestedAt !== undefined && { ms: Math.max(0, at - ingestedAt) }),
      age: Math.max(0, at - publication.timestamp)
    })
  }

  /**
   * A record is about to be queued for a connection.
   * @param {Connection} connection
   * @param {Delivery} delivery
   * @param {import('../wire/packet.js').Codec} codec
   */
  delivering (connection, delivery, codec) {
    const trace = this.#traceOf(connection, delivery)
    if (trace === null || trace[codec]) return
    trace[codec] = true
    delivery.messages(codec)[0].trace = trace
  }

  /**
   * A record is not delivered to a connection.
   * @param {Connection} connection
   * @param {Delivery} delivery
   * @param {'dropped' | 'behind' | 'excepted'} hop
   * @param {string} [reason]
   */
  withheld (connection, delivery, hop, reason) {
    const trace = this.#traceOf(connection, delivery)
    if (trace !== null) this.#wrote(connection, trace, hop, this.#when(), reason)
  }

  /**
   * Messages were written to a connection, or are queued until its client reads.
   * @param {Connection} connection
   * @param {readonly Message[]} messages
   * @param {boolean} queued
   */
  flushed (connection, messages, queued) {
    /** @type {When | undefined} */
    let when
    for (const message of messages) {
      const { trace } = message
      if (trace === undefined) continue
      this.#wrote(connection, trace, queued ? 'queued' : 'written', when ??= this.#when())
      if (queued) this.#writtenLater(connection, trace)
    }
  }

  /** @param {Connection} connection @param {Trace} trace */
  #writtenLater (connection, trace) {
    const { conn } = connection
    const known = this.#queued.get(conn)
    if (known !== undefined) {
      if (known.length < MAX_QUEUED) known.push(trace)
      return
    }
    const queued = [trace]
    this.#queued.set(conn, queued)
    conn.once('drain', () => {
      this.#queued.delete(conn)
      if (!this.active) return
      const when = this.#when()
      for (const one of queued) this.#wrote(connection, one, 'written', when)
    })
  }

  /** @returns {When} */
  #when () { return { now: this.#clock.monotonic(), at: this.#clock.now() } }

  /**
   * @param {Connection} connection
   * @param {Delivery} delivery
   * @returns {Trace | null} null: no watch is about the record or the connection's user
   */
  #traceOf ({ uid }, delivery) {
    const { trace: known, publication, meta } = delivery
    if (known != null || publication === undefined || meta === undefined) return known ?? null
    const ids = known === undefined ? this.#watches.of(publication) : NONE
    if (ids.length === 0 && this.#usersOf(uid).length === 0) {
      delivery.trace = null
      return null
    }
    return delivery.trace = new Trace(publication, meta.offset, ids, this.#clock.monotonic())
  }

  /** @param {string} uid @returns {readonly string[]} */
  #usersOf (uid) { return this.#watches.hasUsers ? this.#watches.of({ uid }) : NONE }

  /**
   * @param {Connection} connection
   * @param {Trace} trace
   * @param {import('./contract.js').Hop} hop
   * @param {When} when
   * @param {string} [reason]
   */
  #wrote (connection, trace, hop, when, reason) {
    for (const id of trace.ids) this.#addTo(id, connection, trace, hop, when, reason)
    for (const id of this.#usersOf(connection.uid))
      if (!trace.ids.includes(id)) this.#addTo(id, connection, trace, hop, when, reason)
  }

  /**
   * @param {string} id
   * @param {Connection} connection
   * @param {Trace} trace
   * @param {import('./contract.js').Hop} hop
   * @param {When} when
   * @param {string} [reason]
   */
  #addTo (id, connection, trace, hop, when, reason) {
    const event = trace.add(id, hop, connection, when, reason)
    if (event === undefined) return
    this.#collector.add([id], event)
    this.#open.add(trace)
  }

  /**
   * A client has acknowledged a record.
   * @param {import('./writes.js').Client} connection
   * @param {{ guid?: string, traceId: string, event: string }} receipt
   * @param {number} ms since it was delivered
   */
  acknowledged (connection, { guid, traceId, event }, ms) {
    this.#client(connection, 'acknowledged', { guid, traceId, event, ms: round(ms) })
  }

  /**
   * Something about one connection.
   * @param {import('./writes.js').Client} connection
   * @param {import('./contract.js').Hop} hop
   * @param {Partial<InspectEvent>} [event]
   * @param {Iterable<string>} [guids] documents whose watches get it as well
   */
  client (connection, hop, event = {}, guids = []) { this.#client(connection, hop, event, guids) }

  /**
   * @param {import('./writes.js').Client} connection
   * @param {import('./contract.js').Hop} hop
   * @param {Partial<InspectEvent>} event
   * @param {Iterable<string>} [guids]
   */
  #client ({ uid, id: sid, client }, hop, event, guids = []) {
    const ids = new Set(this.#watches.of({ uid, guid: event.guid, traceId: event.traceId }))
    for (const guid of guids) for (const id of this.#watches.of({ guid })) ids.add(id)
    if (ids.size > 0) this.#tell([...ids], hop, { uid, sid, ...(client !== undefined && { client }), ...event })
  }

  /**
   * Something about the live stream of a document on this worker.
   * @param {string} guid
   * @param {'gap' | 'repaired' | 'resync'} hop
   * @param {Partial<InspectEvent>} event
   */
  feed (guid, hop, event) { this.#tell(this.#watches.of({ guid }), hop, { guid, ...event }) }
}

/** For parts of a process without an inspector. @type {Inspector} */
export const NO_INSPECTOR = /** @type {any} */ (Object.freeze({ active: false }))

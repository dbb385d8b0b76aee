import { arriving, delivered, happened, logging, observe } from '../../observe/metrics/points.js'
import { MAX_WATCHES, Watches } from './watches.js'
import { Collector } from './collector.js'
import { describe, Trace } from './writes.js'

/**
 * Tells the watches about the records and connections that one process handles. It observes them
 * (observe/metrics/points.js)
 * while there is a watch on any machine. Values of records are never told.
 *
 * @typedef {import('./contract.js').InspectEvent} InspectEvent
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('../../observe/metrics/points.js').Client & { conn: any }} Connection
 * @typedef {{ publication: Publication, meta: { offset?: number }, trace?: Trace }} Delivery
 */

/** Interval of batches and of the search for ended leases, ms. */
const EVERY = 200
/** Watched deliveries that wait for one client; further ones are not reported when they are written. */
const MAX_QUEUED = 1000

export class Inspector {
  /** Set while there is a watch. @type {(() => void) | undefined} */
  #unobserve
  #watches = new Watches()
  /** Records that wait for a client, by Engine.IO's socket. @type {WeakMap<object, Trace[]>} */
  #queued = new WeakMap()
  /** Traces with events that are not sent. @type {Set<Trace>} */
  #open = new Set()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
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
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'inspect_watches' | 'inspect_events' |
   *   'onCollect'>}
   *   dependencies.metrics of its instance
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'monotonic' | 'every'>} dependencies.clock
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
    this.#watches.clear()
    this.#update()
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
    if (this.#watches.size > 0) {
      this.#timer ??= this.#clock.every(EVERY, () => this.#tick()).unref()
      this.#unobserve ??= observe(this.#metrics, this.#handlers(), this.#log)
      return
    }
    this.#timer?.stop()
    this.#unobserve?.()
    this.#timer = this.#unobserve = undefined
  }

  /** @returns {import('../../observe/metrics/points.js').Handlers} */
  #handlers () {
    return [
      [happened, (event) => this.#happened(event)],
      [logging.start, (call) => { call.from = this.#clock.now() }],
      [logging.asyncEnd, ({ records, result, from }) => {
        if (from !== undefined && result !== undefined) this.#published(records, result, from)
      }],
      [arriving.start, (arrival) => this.#received(arrival)],
      [delivered, ({ delivery }) => this.#follow(delivery)]
    ]
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
   * @param {readonly import('../../log/bus/contract.js').PublishEntry[]} entries
   * @param {readonly import('../../log/bus/contract.js').Published[]} published
   * @param {number} from when it began, ms since 1970
   */
  #published (entries, published, from) {
    const at = this.#clock.now()
    entries.forEach(({ publication, origin }, i) => {
      const ids = this.#watches.of(publication)
      if (ids.length === 0) return
      const { timestamp, source } = publication
      const described = describe(publication)
      const details = origin && { source: origin.source, offset: origin.sequence }
      const { position, duplicate } = published[i]
      const hop = duplicate ? 'duplicate' : position === null ? 'published' : 'logged'
      this.#collector.add(ids, { ...described, at: timestamp, hop: 'produced', source })
      this.#collector.add(ids, { ...described, at: from, hop: 'ingested', ms: Math.max(0, from - timestamp), details })
      this.#collector.add(ids, { ...described, at, hop, ms: Math.max(0, at - from), ...position })
    })
  }

  /**
   * A worker has received a record, or a direct publication.
   * @param {{ publication: Publication, epoch?: string, offset?: number, ingestedAt?: number }} arrival
   */
  #received ({ publication, epoch, offset, ingestedAt }) {
    const ids = this.#watches.of(publication)
    if (ids.length === 0) return
    const at = this.#clock.now()
    this.#collector.add(ids, {
      at,
      hop: 'received',
      ...describe(publication),
      ...(offset ? { epoch, offset } : {}),
      ms: ingestedAt === undefined ? undefined : Math.max(0, at - ingestedAt),
      age: Math.max(0, at - publication.timestamp)
    })
  }

  /** @param {Delivery} delivery that is made */
  #follow (delivery) {
    const { publication, meta } = delivery
    const ids = this.#watches.of(publication)
    if (ids.length === 0 && !this.#watches.hasUsers) return
    delivery.trace = new Trace({
      publication, ids, offset: meta.offset, startedAt: this.#clock.monotonic(),
      report: (trace, connection, hop, reason) => {
        this.#report(connection, trace, hop, reason)
        if (hop === 'queued') this.#writtenLater(connection, trace)
      }
    })
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
      for (const one of queued) this.#report(connection, one, 'written')
    })
  }

  /**
   * @param {Connection} connection
   * @param {Trace} trace
   * @param {import('./contract.js').Hop} hop
   * @param {string} [reason]
   */
  #report (connection, trace, hop, reason) {
    // the delivery may outlast its watch
    if (this.#unobserve === undefined) return
    const when = { now: this.#clock.monotonic(), at: this.#clock.now() }
    const users = this.#watches.hasUsers ? this.#watches.of({ uid: connection.uid }) : []
    for (const id of new Set([...trace.ids, ...users])) {
      const event = trace.add(id, hop, connection, when, reason)
      if (event === undefined) continue
      this.#collector.add([id], event)
      this.#open.add(trace)
    }
  }

  /**
   * @param {object} message see observe/metrics/points.js
   * @param {import('./contract.js').Hop} message.hop
   * @param {Partial<InspectEvent>} message.event
   * @param {import('../../observe/metrics/points.js').Client} [message.connection]
   * @param {Iterable<string>} [message.guids]
   */
  #happened ({ hop, event, connection, guids = [] }) {
    const { uid = event.uid, id: sid, client } = connection ?? {}
    const ids = new Set(this.#watches.of({ guid: event.guid, traceId: event.traceId, uid }))
    for (const guid of guids) for (const id of this.#watches.of({ guid })) ids.add(id)
    this.#tell([...ids], hop, { uid, sid, client, ...event })
  }
}

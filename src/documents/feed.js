import { Backoff, retry } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { happened } from '../observe/metrics/points.js'
import { areEmpty } from '../wire/position.js'

/**
 * The live stream of one document on one worker: its position in the log and its members. Records arrive over the bus,
 * which may lose them; offsets show the gap, and the log fills it before later records are delivered.
 *
 * @typedef {import('../log/bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../wire/position.js').Position} Position
 */

/**
 * A connection that has the document open. `deliver` gets the result of `createDelivery`, the same object for all
 * members.
 * @typedef {object} Member
 * @property {string} id connection id
 * @property {string | undefined} client stable id across reconnects, which the client chooses
 * @property {string} sender id that is bound to its user as well (src/gateway/sender.js)
 * @property {(delivery: any) => false | void} deliver false: its backlog is full
 * @property {(guid?: string) => Promise<void> | undefined} drained resolves when its backlog has room for records of a
 *   document, or the connection has ended; undefined: there is room now
 * @property {boolean} [joinsBehind] a join does not wait for room: the member is behind from the beginning
 * @property {(guid: string, position: Position, reason: string) => void} resync the client must load the document again
 * @property {(guid: string, position: Position) => void} passedOver records up to this position excluded the member
 * @property {() => void} fellBehind one more of its documents is behind
 * @property {() => void} caughtUp one of its documents has caught up
 */

/**
 * @typedef {object} FeedDependencies
 * @property {import('../log/bus/contract.js').Bus} bus
 * @property {(record: BusRecord, replayed?: boolean) => unknown} createDelivery replayed: for one member that
 *   reconnected
 * @property {import('../observe/metrics/metrics.js').Metrics} metrics
 * @property {import('../base/common/log.js').Log} log
 * @property {import('../base/common/clock.js').Clock} clock
 * @property {import('../base/common/random.js').Random} random
 * @property {(feed: Feed, member: Member, have: Position) => void} onBehind a member's backlog is full; the callee
 *   calls `rejoin` when it has caught up
 */

/** Records read from the log at a time. */
export const PAGE = 200
/**
 * Live records queued while the feed is opening or reads the log; above this they are dropped and read from the log.
 */
const MAX_PENDING = 1000
/**
 * A member gets its position after this number of records that exclude it. Less than the size of any useful log, so
 * that the member does not have to resync.
 */
const PASSED_OVER = 20

export class Feed {
  /** @type {Set<Member>} */
  members = new Set()
  /** @type {Position} */
  position = { epoch: '', offset: 0 }
  /** Joins in progress; a feed without members is closed only when there are none. */
  joining = 0
  /**
   * Members that have read further in the log than live delivery, with their offset. Usually there are none.
   * @type {Map<Member, number> | undefined}
   */
  #ahead
  /**
   * Members that are behind, with their position: they get no records of the log until they rejoin.
   * @type {Map<Member, Position> | undefined}
   */
  #missing
  /**
   * Members excluded from records, with the number of records since they last got their position. Usually none.
   * @type {Map<Member, number> | undefined}
   */
  #passed
  #live = false
  closed = false
  /** A live record has arrived since the last idle check (idle-check.js). */
  heard = true
  /** Ends the repair in progress. @type {AbortController | undefined} */
  #repairing
  /** @type {BusRecord[]} */
  #pending = []
  /** Live records were dropped from #pending, or may have been missed: the log may have more records. */
  #behind = false
  #subscribed = false
  /** @type {Promise<void> | undefined} */
  #subscribing

  /** @param {string} guid @param {FeedDependencies} dependencies */
  constructor (guid, { bus, createDelivery, metrics, log, clock, random, onBehind }) {
    this.guid = guid
    this.bus = bus
    this.createDelivery = createDelivery
    this.metrics = metrics
    this.log = log
    this.clock = clock
    this.random = random
    this.onBehind = onBehind
  }

  /**
   * Subscribes, once; every caller waits for the same subscription.
   * @returns {Promise<void> | undefined} undefined: it is subscribed already
   */
  open () {
    if (this.#subscribed) return undefined
    return this.#subscribing ??= (async () => {
      this.position = await this.bus.subscribe(this.guid)
      this.#subscribed = true
      this.#subscribing = undefined
      this.#goLive()
    })()
  }

  /** @returns {Promise<void>} */
  async close () {
    this.closed = true
    this.#repairing?.abort(new InkcastError('unavailable'))
    this.#pending.length = 0
    await this.bus.unsubscribe(this.guid)
  }

  /** @param {BusRecord} record from the bus, live */
  receive (record) {
    if (this.closed) return
    this.heard = true
    if (record.offset === 0) this.#deliver(record)
    else if (this.#live) this.#advance(record)
    else if (this.#pending.length < MAX_PENDING) this.#pending.push(record)
    else this.#behind = true
  }

  /**
   * Adds a member that has all records up to `offset`, which may be ahead of live delivery.
   * @param {Member} member
   * @param {number} offset
   */
  add (member, offset) {
    this.members.add(member)
    if (offset > this.position.offset) (this.#ahead ??= new Map()).set(member, offset)
  }

  /** @param {Member} member @returns {boolean} whether it was a member */
  remove (member) {
    this.#ahead?.delete(member)
    this.#passed?.delete(member)
    return this.#found(member) || this.members.delete(member)
  }

  get unused () { return this.members.size === 0 && this.#missing === undefined }

  /** @param {Member} member @returns {Position} of the last record sent to it */
  positionOf (member) {
    const { epoch, offset } = this.#missing?.get(member) ?? this.position
    return { epoch, offset: Math.max(offset, this.#ahead?.get(member) ?? 0) }
  }

  /** @param {Member} member @returns {Position | undefined} the position of a member that is behind */
  missingFrom (member) { return this.#missing?.get(member) }

  /**
   * Ends the state "behind" of a member.
   * @param {Member} member
   * @param {number} offset of the last record it has
   */
  rejoin (member, offset) {
    this.#found(member)
    this.add(member, offset)
  }

  /** @param {Member} member @returns {boolean} whether it was behind */
  #found (member) {
    if (!this.#missing?.delete(member)) return false
    if (this.#missing.size === 0) this.#missing = undefined
    return true
  }

  /**
   * Compares with the end of the log, after live delivery was interrupted.
   * @param {Position | null} end null: there is no log
   */
  check (end) {
    if (this.closed) return
    // the current read may be from before the interruption
    if (!this.#live) this.#behind = true
    else if (this.lags(end)) this.#repair()
  }

  /**
   * @param {Position | null} end of the log; null: there is no log
   * @returns {boolean} whether this feed may have other records, and no repair is in progress
   */
  lags (end) {
    if (this.closed || !this.#live) return false
    const { epoch, offset } = this.position
    // The end of a log with records is kept for days after the last one. Without it, the backend has lost its data, and
    // perhaps a record that this feed did not get.
    if (end === null) return offset > 0
    // an end before this position: the log has lost records, or a record came live while the end was on its way
    return end.epoch !== epoch ? !areEmpty(end, this.position) : end.offset !== offset
  }

  /** @param {BusRecord} record */
  #advance (record) {
    const { epoch, offset } = this.position
    if (record.epoch !== epoch || record.offset > offset + 1) {
      if (happened.hasSubscribers) this.#tellGap(record)
      this.#repair()
    } else if (record.offset === offset + 1) {
      this.position.offset = record.offset
      this.#deliver(record)
    }
  }

  /** @param {BusRecord} record */
  #deliver (record) {
    if (this.members.size === 0 && (this.#missing === undefined || record.offset > 0)) return
    const { publication } = record
    const delivery = this.createDelivery(record)
    if (publication.except.length === 0 && publication.device === undefined && this.#ahead === undefined) {
      for (const member of this.members) if (member.deliver(delivery) === false) this.#fallBehind(member, record)
    } else {
      for (const member of this.members) {
        if (isExcepted(member, publication)) this.#passOver(member, record, delivery)
        else if (!this.#has(member, record.offset) && member.deliver(delivery) === false)
          this.#fallBehind(member, record)
      }
    }
    if (this.#missing === undefined || record.offset > 0) return
    // records that no log keeps cannot be replayed later
    for (const member of this.#missing.keys()) if (!isExcepted(member, publication)) member.deliver(delivery)
  }

  /** @param {string} hop @param {object} event */
  #tell (hop, event) {
    happened.publish({ by: this.metrics, hop, event: { guid: this.guid, ...event } })
  }

  /** @param {BusRecord} record that shows it */
  #tellGap ({ epoch, offset, publication: { traceId } }) {
    const reason = epoch === this.position.epoch ? 'missed' : 'epoch'
    const count = reason === 'missed' ? offset - this.position.offset - 1 : undefined
    this.#tell('gap', { reason, epoch, offset, traceId, count })
  }

  /**
   * Without this a member that is the publisher of all records would reconnect with a very old position.
   * @param {Member} member
   * @param {BusRecord} record that excludes it
   * @param {any} delivery of the record
   */
  #passOver (member, { epoch, offset }, delivery) {
    delivery.trace?.tell(member, 'excepted')
    if (offset === 0) return
    this.#passed ??= new Map()
    const count = (this.#passed.get(member) ?? 0) + 1
    this.#passed.set(member, count % PASSED_OVER)
    if (count === PASSED_OVER) member.passedOver(this.guid, { epoch, offset })
  }

  /** @param {Member} member @param {BusRecord} record that did not fit into its backlog */
  #fallBehind (member, { epoch, offset }) {
    if (offset > 0) this.addBehind(member, { epoch, offset: offset - 1 })
  }

  /**
   * Adds a member that has no room for the records that it misses.
   * @param {Member} member
   * @param {Position} have its position; advances with each record sent
   */
  addBehind (member, have) {
    this.members.delete(member)
    ;(this.#missing ??= new Map()).set(member, have)
    this.onBehind(this, member, have)
  }

  /** @param {Member} member @param {number} offset 0: a record without a place in the log */
  #has (member, offset) {
    const ahead = this.#ahead?.get(member)
    if (ahead === undefined || offset === 0) return false
    if (offset >= ahead) {
      this.#ahead?.delete(member)
      if (this.#ahead?.size === 0) this.#ahead = undefined
    }
    return offset <= ahead
  }

  /** Reads the log until there is no gap; live records are queued meanwhile. */
  #repair () {
    this.#live = false
    this.#repairing = new AbortController()
    retry(() => this.#catchUp(), {
      signal: this.#repairing.signal,
      clock: this.clock,
      backoff: new Backoff({ min: 100, random: this.random }),
      onFailure: (error) => {
        this.metrics.bus_errors.inc({ operation: 'history' })
        this.log.debug({ err: error, guid: this.guid }, 'the log cannot be read, retrying')
      }
    }).then(() => this.#goLive(), (error) => {
      if (!this.closed) this.log.error({ err: error, guid: this.guid }, 'feed stopped')
    })
  }

  async #catchUp () {
    for (;;) {
      // Records are appended and published in one step, so all live records are in the log by now.
      this.#pending = []
      this.#behind = false
      const { position, records, gap } = await this.bus.history(this.guid, this.position, PAGE)
      if (this.closed) return
      if (gap !== null) {
        this.position = { ...position }
        this.#ahead = undefined
        this.metrics.feed_repairs.inc({ result: 'resync' })
        if (happened.hasSubscribers) this.#tell('resync', { reason: gap, ...position })
        for (const member of this.members) member.resync(this.guid, position, gap)
        return
      }
      for (const record of records) {
        this.position.offset = record.offset
        this.#deliver(record)
      }
      if (this.position.offset >= position.offset) {
        this.metrics.feed_repairs.inc({ result: 'repaired' })
        if (happened.hasSubscribers) this.#tell('repaired', { ...this.position })
        return
      }
    }
  }

  #goLive () {
    this.#repairing = undefined
    this.#live = true
    const pending = this.#pending
    this.#pending = []
    for (const record of pending) {
      this.#advance(record)
      // another gap: the repair that it starts reads the rest as well
      if (!this.#live) return
    }
    if (this.#behind) this.#repair()
  }
}

/**
 * @param {Pick<Member, 'id' | 'sender' | 'client'>} member
 * @param {Pick<import('../wire/publication.js').Publication, 'except' | 'device'>} publication
 */
export function isExcepted (member, { except, device }) {
  if (device !== undefined && member.client !== device) return true
  if (except.length === 0) return false
  return except.includes(member.id) || except.includes(member.sender) ||
    (member.client !== undefined && except.includes(member.client))
}

import { Backoff, retry } from '../common/backoff.js'
import { InkcastError } from '../common/errors.js'

/**
 * The live stream of one document on one worker: its place in the log and its members. Records arrive over the bus,
 * which may lose them; offsets show that, and the log fills the hole before anything later is delivered.
 *
 * @typedef {import('../bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../wire/position.js').Position} Position
 */

/**
 * Who has the document open. `deliver` gets what `createDelivery` made of a record, the same object for all members.
 * @typedef {object} Member
 * @property {string} id connection id
 * @property {string | undefined} client stable id across reconnects
 * @property {(delivery: any) => false | void} deliver false: it cannot take it now
 * @property {() => Promise<void> | undefined} drained resolves when it can take more, or has gone; undefined: it can
 *   now
 * @property {(guid: string, position: Position, reason: string) => void} resync the document has to be loaded anew
 * @property {(guid: string, position: Position) => void} passedOver records up to there were not for it
 * @property {() => void} fellBehind one more of its documents is behind
 * @property {() => void} caughtUp one less is
 */

/**
 * @typedef {object} FeedDependencies
 * @property {import('../bus/contract.js').Bus} bus
 * @property {(record: BusRecord, replayed?: boolean) => unknown} createDelivery replayed: it is for one member that
 *   came back
 * @property {import('../metrics/metrics.js').Metrics} metrics
 * @property {import('../common/log.js').Log} log
 * @property {(feed: Feed, member: Member, have: Position) => void} onBehind a member could not take a record; brings it
 *   back with `rejoin`
 */

/** Records read from the log at a time. */
export const PAGE = 200
/**
 * Live records kept aside while the feed is opening or reads the log; beyond it they are dropped and read from the log
 * as well.
 */
const MAX_PENDING = 1000
/**
 * A member hears where it is after so many records that it is excepted from. Fewer than any log of use keeps: it would
 * have to resync otherwise.
 */
const PASSED_OVER = 20

export class Feed {
  /** @type {Set<Member>} */
  members = new Set()
  /** @type {Position} */
  position = { epoch: '', offset: 0 }
  /** Joins under way; a feed without members is closed only when there are none. */
  joining = 0
  /**
   * Members that have read more of the log than has come live, with the offset they have. Mostly there are none.
   * @type {Map<Member, number> | undefined}
   */
  #ahead
  /**
   * Members that could not take a record, with what they have: they get nothing that is kept until they rejoin.
   * @type {Map<Member, Position> | undefined}
   */
  #missing
  /**
   * Members that are excepted from records, with how many since they last heard where they are. Mostly there are none.
   * @type {Map<Member, number> | undefined}
   */
  #passed
  #live = false
  closed = false
  /** Something has come live since the idle check last looked (idle-check.js). */
  heard = true
  /** Ends the repair under way. @type {AbortController | undefined} */
  #repairing
  /** @type {BusRecord[]} */
  #pending = []
  /** Live records were dropped from #pending, or may have been missed, so the log may have more than we know of. */
  #behind = false
  #subscribed = false
  /** @type {Promise<void> | undefined} */
  #subscribing

  /** @param {string} guid @param {FeedDependencies} dependencies */
  constructor (guid, { bus, createDelivery, metrics, log, onBehind }) {
    this.guid = guid
    this.bus = bus
    this.createDelivery = createDelivery
    this.metrics = metrics
    this.log = log
    this.onBehind = onBehind
  }

  /**
   * Subscribes, once; every caller waits for the same subscription.
   * @returns {Promise<void> | undefined} undefined: it has
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
   * Adds a member that has everything up to `offset`, which may be ahead of what has come live.
   * @param {Member} member
   * @param {number} offset
   */
  add (member, offset) {
    this.members.add(member)
    if (offset > this.position.offset) (this.#ahead ??= new Map()).set(member, offset)
  }

  /** @param {Member} member @returns {boolean} whether it was one */
  remove (member) {
    this.#ahead?.delete(member)
    this.#passed?.delete(member)
    return this.#found(member) || this.members.delete(member)
  }

  get unused () { return this.members.size === 0 && this.#missing === undefined }

  /** @param {Member} member @returns {Position} what it has been sent, and what comes goes on from */
  positionOf (member) {
    const { epoch, offset } = this.#missing?.get(member) ?? this.position
    return { epoch, offset: Math.max(offset, this.#ahead?.get(member) ?? 0) }
  }

  /** @param {Member} member @returns {Position | undefined} what a member has that is behind */
  missingFrom (member) { return this.#missing?.get(member) }

  /**
   * Makes a member that was behind one like the others.
   * @param {Member} member
   * @param {number} offset that it has now
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
    if (this.closed || end === null) return
    // what is being read may have been read before the interruption
    if (!this.#live) this.#behind = true
    else if (this.lags(end)) this.#repair()
  }

  /**
   * @param {Position} end of the log
   * @returns {boolean} whether it has not come that far, and nothing is being done about it
   */
  lags (end) {
    return !this.closed && this.#live && (end.epoch !== this.position.epoch || end.offset > this.position.offset)
  }

  /** @param {BusRecord} record */
  #advance (record) {
    const { epoch, offset } = this.position
    if (record.epoch !== epoch || record.offset > offset + 1) {
      this.#repair()
    } else if (record.offset === offset + 1) {
      this.position.offset = record.offset
      this.#deliver(record)
    }
  }

  /** @param {BusRecord} record */
  #deliver (record) {
    if (this.members.size === 0 && (this.#missing === undefined || record.offset > 0)) return
    const { except } = record.publication
    const delivery = this.createDelivery(record)
    if (except.length === 0 && this.#ahead === undefined) {
      for (const member of this.members) if (member.deliver(delivery) === false) this.#fallBehind(member, record)
    } else {
      for (const member of this.members) {
        if (isExcepted(member, except)) this.#passOver(member, record)
        else if (!this.#has(member, record.offset) && member.deliver(delivery) === false)
          this.#fallBehind(member, record)
      }
    }
    if (this.#missing === undefined || record.offset > 0) return
    // what is in no log comes now or never
    for (const member of this.#missing.keys()) if (!isExcepted(member, except)) member.deliver(delivery)
  }

  /**
   * A member that gets no record, because it wrote all of them, would come back with the position of long ago.
   * @param {Member} member
   * @param {BusRecord} record that it is excepted from
   */
  #passOver (member, { epoch, offset }) {
    if (offset === 0) return
    this.#passed ??= new Map()
    const count = (this.#passed.get(member) ?? 0) + 1
    this.#passed.set(member, count % PASSED_OVER)
    if (count === PASSED_OVER) member.passedOver(this.guid, { epoch, offset })
  }

  /** @param {Member} member @param {BusRecord} record that it could not take */
  #fallBehind (member, { epoch, offset }) {
    if (offset === 0) return
    const have = { epoch, offset: offset - 1 }
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

  /** Reads the log until there is no hole; what comes live meanwhile waits. */
  #repair () {
    this.#live = false
    this.#repairing = new AbortController()
    retry(() => this.#catchUp(), {
      signal: this.#repairing.signal,
      backoff: new Backoff({ min: 100 }),
      onFailure: (error) => {
        this.metrics.bus_errors.inc({ operation: 'history' })
        this.log.debug({ err: error, guid: this.guid }, 'the log cannot be read, trying again')
      }
    }).then(() => this.#goLive(), (error) => {
      if (!this.closed) this.log.error({ err: error, guid: this.guid }, 'feed stopped')
    })
  }

  async #catchUp () {
    for (;;) {
      // Records are appended and published in one step, so whatever has come live is in the log by now.
      this.#pending = []
      this.#behind = false
      const { position, records, gap } = await this.bus.history(this.guid, this.position, PAGE)
      if (this.closed) return
      if (gap !== null) {
        this.position = { ...position }
        this.#ahead = undefined
        this.metrics.feed_repairs.inc({ result: 'resync' })
        for (const member of this.members) member.resync(this.guid, position, gap)
        return
      }
      for (const record of records) {
        this.position.offset = record.offset
        this.#deliver(record)
      }
      if (this.position.offset >= position.offset) {
        this.metrics.feed_repairs.inc({ result: 'repaired' })
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
      // another hole: the log that is read now has the rest as well
      if (!this.#live) return
    }
    if (this.#behind) this.#repair()
  }
}

/** @param {Member} member @param {string[]} except */
export function isExcepted (member, except) {
  return except.includes(member.id) || (member.client !== undefined && except.includes(member.client))
}

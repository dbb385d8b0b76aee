import { WheelEntry } from '../../transport/heartbeat/wheel.js'
import { latencyCode, MAX_MISSING } from './summary.js'

/**
 * Ids by which clients acknowledge records: the same for all members on this worker, so that they share a frame. Below
 * 2^31, the limit of clients in Java, and above the values of Socket.IO's own counter (`socket.emitWithAck` of
 * extensions), which starts from 0.
 */
export const ACK_IDS = 2 ** 26
export const FIRST_ACK_ID = 2 ** 31 - ACK_IDS

let lastNumber = 0

/** A connection in open receipts: only the reported properties, so that receipts keep no connection alive. */
export class Receiver {
  number = ++lastNumber

  /** @param {string} uid @param {string} sid */
  constructor (uid, sid) {
    this.uid = uid
    this.sid = sid
  }
}

/**
 * @typedef {object} Asking the connection that gets the record
 * @property {string} id
 * @property {string} uid
 * @property {Receiver | null} receiver set by `ask`
 */

/** @param {import('../../wire/publication.js').Publication} publication */
const withoutValue = ({ operator, guid, event, traceId, traceparent, timestamp }) =>
  ({ operator, guid, event, traceId, traceparent, timestamp })

/**
 * The receipt of one record on this worker: the members asked and their latencies. Nine bytes for each member.
 */
export class Receipt extends WheelEntry {
  /** @type {Receiver[] | null} */
  #members = null
  #sorted = true
  /** Latency codes by member, 0: none yet; created with the first one. @type {Uint8Array | null} */
  #latencies = null
  asked = 0
  acknowledged = 0
  unasked = 0
  /** Its share of maxPendingReceipts. */
  weight = 0
  /** This worker has reported its part, but others have not yet. */
  reported = false
  /** This worker is announced to the others. */
  announced = false
  /** The incarnation that holds it for the case that this worker dies; undefined: nothing is stored for it. */
  holder = /** @type {string | undefined} */ (undefined)
  /** Of a traced record. @type {import('../../observe/metrics/points.js').Stage | undefined} */
  stage
  /** Time of the next check, ms. */
  dueAt = 0

  /**
   * @param {number | undefined} ackId undefined: too many receipts are pending, no member is asked
   * @param {import('../../wire/publication.js').Publication} publication not stored: its value may be large
   * @param {string | undefined} sharedId id among workers; undefined: no other worker takes part
   * @param {number} at ms, as in `acknowledge`
   * @param {(receipt: Receipt) => void} onMember called before each member is added
   * @param {boolean} [sampled] its publisher did not request it
   */
  constructor (ackId, publication, sharedId, at, onMember, sampled = false) {
    super()
    const { operator } = publication
    this.ackId = ackId
    this.guid = operator === 'broadcast' ? publication.guid : undefined
    this.uid = operator === 'user' || operator === 'device' ? publication.uid : undefined
    this.sid = operator === 'socket' ? publication.sid : undefined
    this.event = publication.event
    this.traceId = publication.traceId
    this.sampled = sampled ? withoutValue(publication) : undefined
    this.sharedId = sharedId
    this.at = at
    this.onMember = onMember
  }

  /** @returns {import('./summary.js').Subject} */
  get about () {
    const { guid, uid, sid, event, traceId } = this
    const traceparent = this.stage?.traceparent
    return { guid, uid, sid, event, traceId, ...(traceparent !== undefined && { traceparent }) }
  }

  get delivered () { return this.asked + this.unasked }
  get complete () { return this.acknowledged === this.asked }

  /** Called before the record is written to a member. All are asked in the same turn. @param {Asking} connection */
  ask (connection) {
    this.onMember(this)
    if (this.ackId === undefined) {
      this.unasked++
      return
    }
    this.asked++
    const receiver = connection.receiver ??= new Receiver(connection.uid, connection.id)
    // An array literal has room for just its elements: most receipts have one member.
    if (this.#members === null) this.#members = [receiver]
    else if (this.#members.push(receiver) && receiver.number < this.#members[this.#members.length - 2].number)
      this.#sorted = false
  }

  /**
   * @param {Receiver | null} receiver
   * @param {number} now ms
   * @returns {boolean} false: it was not asked, or has acknowledged already
   */
  acknowledge (receiver, now) {
    const index = receiver === null ? -1 : this.#find(receiver)
    if (index === -1) return false
    this.#latencies ??= new Uint8Array(this.asked)
    if (this.#latencies[index] !== 0) return false
    this.#latencies[index] = latencyCode(now - this.at)
    this.acknowledged++
    return true
  }

  /** @param {Receiver} receiver @returns {number} -1: not a member */
  #find (receiver) {
    const members = this.#members
    if (members === null) return -1
    if (!this.#sorted) {
      members.sort((one, other) => one.number - other.number)
      this.#sorted = true
    }
    let [low, high] = [0, members.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (members[middle].number < receiver.number) low = middle + 1
      else high = middle
    }
    return members[low] === receiver ? low : -1
  }

  /** @returns {import('./summary.js').Part} */
  part () {
    /** @type {Record<number, number>} */
    const latencies = {}
    /** @type {[uid: string, sid: string][]} */
    const missing = []
    for (let i = 0; i < this.asked; i++) {
      const code = this.#latencies?.[i] ?? 0
      if (code !== 0) latencies[code] = (latencies[code] ?? 0) + 1
      else if (missing.length < MAX_MISSING)
        missing.push([
          /** @type {Receiver[]} */ (this.#members)[i].uid,
          /** @type {Receiver[]} */ (this.#members)[i].sid
        ])
    }
    return { delivered: this.delivered, unasked: this.unasked, latencies, missing }
  }

  /** Frees the members after their part was reported. */
  forgetMembers () { this.#members = this.#latencies = null }
}

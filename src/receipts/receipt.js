import { Entry } from '../heartbeat/wheel.js'
import { latencyCode, MAX_MISSING } from './summary.js'

/**
 * Ids by which clients acknowledge records: the same for all members on this worker, so that they share a frame. Below
 * 2^31, which is what clients in Java read, and above what Socket.IO's own counter comes to (`socket.emitWithAck` of
 * extensions): it counts from 0.
 */
export const ACK_IDS = 2 ** 26
export const FIRST_ACK_ID = 2 ** 31 - ACK_IDS

let lastNumber = 0

/** A connection as open receipts know it: what is told of it, and no more, so that they keep nothing of it alive. */
export class Receiver {
  number = ++lastNumber

  /** @param {string} uid @param {string} sid */
  constructor (uid, sid) {
    this.uid = uid
    this.sid = sid
  }
}

/**
 * @typedef {object} Asking who gets the record
 * @property {string} id
 * @property {string} uid
 * @property {Receiver | null} receiver made here
 */

/**
 * The receipt of one record on this worker: who was asked, and how long each took to answer. Nine bytes for each
 * member, and nothing else.
 */
export class Receipt extends Entry {
  /** @type {Receiver[] | null} */
  #members = null
  #sorted = true
  /** By member, 0: none yet; made with the first. @type {Uint8Array | null} */
  #latencies = null
  asked = 0
  acknowledged = 0
  unasked = 0
  /** What it counts for the bound. */
  weight = 0
  /** This worker's part was handed over, but others have not done so yet. */
  reported = false
  /** The others know that this worker takes part. */
  announced = false
  /** When it has to be looked at, ms. */
  dueAt = 0

  /**
   * @param {number | undefined} ackId undefined: too many are pending, nobody is asked
   * @param {import('../wire/publication.js').Publication} publication not kept, its value may be large
   * @param {string | undefined} sharedId by which other workers know it; undefined: there are none
   * @param {number} at ms, as in `acknowledge`
   * @param {(receipt: Receipt) => void} onMember called for each, before
   */
  constructor (ackId, { operator, guid, uid, sid, event, traceId }, sharedId, at, onMember) {
    super()
    this.ackId = ackId
    this.guid = operator === 'broadcast' ? guid : undefined
    this.uid = operator === 'user' ? uid : undefined
    this.sid = operator === 'socket' ? sid : undefined
    this.event = event
    this.traceId = traceId
    this.sharedId = sharedId
    this.at = at
    this.onMember = onMember
  }

  get delivered () { return this.asked + this.unasked }
  get complete () { return this.acknowledged === this.asked }

  /** The record is about to be written to it. All members are asked in the same turn. @param {Asking} connection */
  ask (connection) {
    this.onMember(this)
    if (this.ackId === undefined) {
      this.unasked++
      return
    }
    this.asked++
    const receiver = connection.receiver ??= new Receiver(connection.uid, connection.id)
    // one that is made with its first element has room for just that: mostly there is only one
    if (this.#members === null) this.#members = [receiver]
    else if (this.#members.push(receiver) && receiver.number < this.#members[this.#members.length - 2].number)
      this.#sorted = false
  }

  /**
   * @param {Receiver | null} receiver
   * @param {number} now ms
   * @returns {boolean} false: it was not asked, or has answered already
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

  /** @param {Receiver} receiver @returns {number} -1: it is not there */
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

  /** Lets go of its members, whose part was handed over. */
  forgetMembers () { this.#members = this.#latencies = null }
}

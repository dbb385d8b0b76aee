/**
 * Checks the events that a service gets by webhook against docs/webhooks.md (Guarantees), docs/sessions.md and
 * docs/kafka.md (Receipts).
 *
 * @typedef {object} Event a CloudEvent of inkcast
 * @property {string} id
 * @property {string} source
 * @property {string} sequence
 * @property {'message' | 'online' | 'offline' | 'joined' | 'left' | 'vacated' | 'receipt'} operator
 * @property {string} [guid]
 * @property {string} [uid]
 * @property {string} traceid
 * @property {string} time
 * @property {any} data
 * @property {string} [queue]
 * @property {number} [seq]
 */

/** Events that begin something, by those that end it. @type {Record<string, string>} */
const BEGINS = { offline: 'online', left: 'joined' }

export class UplinkChecker {
  /** Sequences, by source. @type {Map<string, { last: number, seen: Set<number> }>} */
  #sources = new Map()
  /** Number of the last message, by writer. @type {Map<string, number>} */
  messages = new Map()
  /** The last event, by user, or user and document. @type {Map<string, string>} */
  states = new Map()
  /**
   * By trace id: pages that acknowledged, those that may have been asked (or not), and what receipts say.
   * @type {Map<string, { asked: number, perhaps: number, acknowledged: number, delivered: number, receipts: number }>}
   */
  receipts = new Map()
  /** @type {Set<string>} */
  #receipts = new Set()
  receiptsTwice = 0
  events = 0
  repeated = 0

  /**
   * @param {(sentence: string) => void} violation
   * @param {() => boolean} hasLost whether Redis may have lost events
   * @param {() => boolean} isCalm whether no fault was made
   */
  constructor (violation, hasLost, isCalm) {
    this.violation = violation
    this.hasLost = hasLost
    this.isCalm = isCalm
  }

  /** @param {Event} event @returns {void} */
  got (event) {
    this.events++
    const { source, sequence, operator } = event
    const known = this.#sources.get(source) ?? { last: -1, seen: new Set() }
    this.#sources.set(source, known)
    const number = Number(sequence)
    if (known.seen.has(number)) return void this.repeated++
    known.seen.add(number)
    if (number < known.last && !this.hasLost())
      this.violation(`the webhook has event ${sequence} of ${source} for the first time after ${known.last}`)
    known.last = Math.max(known.last, number)
    if (operator === 'message') this.#message(event)
    else if (operator === 'receipt') this.#receipt(event)
    else if (operator !== 'vacated') this.#lifeCycle(event)
  }

  /** @param {Event} event */
  #message ({ data }) {
    const { writer, number } = data ?? {}
    // pages of other documents send what is no edit
    if (writer === undefined) return
    const last = this.messages.get(writer) ?? 0
    if (number !== last + 1 && !this.hasLost())
      this.violation(`the webhook has message ${number} of ${writer} after ${last}`)
    this.messages.set(writer, Math.max(last, number))
  }

  /** @param {Event} event */
  #lifeCycle ({ operator, guid, uid }) {
    const key = guid === undefined ? `${uid}` : `${uid} in ${guid}`
    const before = this.states.get(key)
    this.states.set(key, operator)
    const begin = BEGINS[operator]
    if (begin !== undefined && before === undefined && !this.hasLost())
      this.violation(`the webhook has ${operator} of ${key} without ${begin}`)
    if (before === operator && this.isCalm()) this.violation(`the webhook has ${operator} of ${key} twice`)
  }

  /** A page acknowledges a record that asks for it. @param {string} traceId */
  acknowledged (traceId) { this.#of(traceId).asked++ }

  /** A page acknowledges a record, as it does with each one. @param {string} traceId */
  taken (traceId) { this.#of(traceId).perhaps++ }

  /** @param {string} traceId */
  #of (traceId) {
    const receipt = this.receipts.get(traceId) ?? { asked: 0, perhaps: 0, acknowledged: 0, delivered: 0, receipts: 0 }
    this.receipts.set(traceId, receipt)
    return receipt
  }

  /** @param {Event} event */
  #receipt ({ traceid, time, data }) {
    const { delivered, acknowledged, missing, more, unasked } = data
    // docs/webhooks.md, "Apply each event once": stored twice after an answer that did not come
    const name = JSON.stringify([traceid, time, data])
    if (this.#receipts.has(name)) return void this.receiptsTwice++
    this.#receipts.add(name)
    if (delivered !== acknowledged + missing.length + more + unasked)
      this.violation(`a receipt of ${traceid}: ${delivered} are not ${acknowledged} + ${missing.length} + ${more} + ${unasked}`)
    const receipt = this.#of(traceid)
    receipt.acknowledged += acknowledged
    receipt.delivered += delivered
    receipt.receipts++
    // parts that Redis has lost the end of make a second receipt
    const counted = this.hasLost() ? acknowledged : receipt.acknowledged
    const most = receipt.asked + receipt.perhaps
    if (counted > most) this.violation(`receipts of ${traceid}: ${counted} acknowledgements of ${most} pages`)
  }
}

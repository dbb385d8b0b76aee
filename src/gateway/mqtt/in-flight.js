/**
 * Records that one client has got with quality of service 1 and has not acknowledged, at most as many as it takes at
 * once. There is no queue behind it: later records stay in the log of their document.
 *
 * @typedef {object} Record shared by all receivers with the same packet id
 * @property {number} id of its packet
 * @property {string | undefined} guid undefined: of the user's log
 * @property {number} offset in the log
 * @property {number | undefined} ackId of a receipt
 *
 * @typedef {Omit<Record, 'guid'> & { guid: string | undefined | null }} Sent null: of no log any more
 *
 * @typedef {object} Owner its connection
 * @property {{ clock: Pick<import('../../base/common/clock.js').Clock, 'timer'> }} context
 * @property {() => void} tooSlow called when the client acknowledges nothing
 */

/** Exported for packet ids. */
export const MAX_ID = 65_535
/**
 * Longest time without an acknowledgement while records wait, ms: the longest silence of version 5. A new connection
 * gets the records once more; in this one the gateway must not repeat them [MQTT5-4.4.0-1].
 * Exported for tests: a bound.
 */
export const PATIENCE = 900_000

/** The list of a client that has acknowledged everything. @type {Sent[]} */
const NOTHING = []

export class InFlight {
  /** Oldest first: clients acknowledge in this order [MQTT-4.6.0-2], so most searches end at once. */
  #records = NOTHING
  /** @type {Promise<void> | undefined} */
  #drained
  /** @type {(() => void) | undefined} */
  #resolve
  /** Ids of records that the client got in an earlier connection, and gets again. @type {Set<number> | undefined} */
  #reserved
  /** Runs while records wait. @type {import('../../base/common/clock.js').Timer | undefined} */
  #patience
  #owner

  /**
   * @param {number} most
   * @param {Owner} owner
   */
  constructor (most, owner) {
    this.most = most
    this.#owner = owner
  }

  get size () { return this.#records.length }
  get hasRoom () { return this.size < this.most }

  /** @param {Iterable<number>} ids of records that come again */
  reserve (ids) { for (const id of ids) (this.#reserved ??= new Set()).add(id) }

  /**
   * @param {Record} record with the packet id that it should have
   * @returns {number} its packet id: this one or, if that is in use, the next one [MQTT-2.3.1-4] [MQTT5-2.2.1-4]
   */
  add (record) {
    let { id } = record
    while (this.#find(id) !== -1 || this.#reserved?.has(id)) id = id % MAX_ID + 1
    this.#push(id === record.id ? record : { ...record, id })
    return id
  }

  /** @param {Record} record that comes again @param {number} id reserved */
  addAgain (record, id) {
    this.#reserved?.delete(id)
    this.#push({ ...record, id })
  }

  /** @param {Record} record */
  #push (record) {
    if (this.#records === NOTHING) this.#records = [record]
    else this.#records.push(record)
  }

  /** @param {number} id @returns {number} its place; -1: none */
  #find (id) {
    const records = this.#records
    for (let at = 0; at < records.length; at++) if (records[at].id === id) return at
    return -1
  }

  /** @param {number} id @returns {Sent | undefined} that the client has acknowledged */
  take (id) {
    const at = this.#find(id)
    if (at === -1) return undefined
    const record = this.#records[at]
    if (this.#records.length === 1) this.#records = NOTHING
    else if (at === 0) this.#records.shift()
    else this.#records.splice(at, 1)
    if (this.#patience !== undefined) this.#wait()
    // half of it at a time: a page of the log for each record would be too much
    if (this.size <= this.most / 2) this.#wake()
    return record
  }

  /** @param {string | undefined} guid @returns {[offset: number, id: number][]} its records */
  of (guid) { return this.#records.filter((record) => record.guid === guid).map(({ offset, id }) => [offset, id]) }

  /**
   * They are not of this log any more. The client has them, so they keep their room and their ids until it acknowledges
   * them [MQTT5-3.3.4-9] [MQTT5-2.2.1-4].
   * @param {string | undefined} guid
   */
  forget (guid) {
    const records = this.#records
    for (let at = 0; at < records.length; at++)
      if (records[at].guid === guid) records[at] = { ...records[at], guid: null }
  }

  /** @returns {Promise<void> | undefined} resolves when there is room again, or at the end; undefined: there is room */
  drained () {
    if (this.hasRoom) return undefined
    if (this.#patience === undefined) this.#wait()
    return this.#drained ??= new Promise((resolve) => { this.#resolve = resolve })
  }

  end () {
    this.#records = NOTHING
    this.#wake()
  }

  #wait () {
    this.#patience?.stop()
    this.#patience = this.#owner.context.clock.timer(PATIENCE, () => this.#owner.tooSlow()).unref()
  }

  #wake () {
    this.#patience?.stop()
    this.#patience = undefined
    this.#resolve?.()
    this.#resolve = this.#drained = undefined
  }
}

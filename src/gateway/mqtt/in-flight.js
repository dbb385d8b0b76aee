/**
 * Records that one client has got with quality of service 1 and has not acknowledged, at most as many as it takes at
 * once. There is no queue behind it: later records stay in the log of their document.
 *
 * @typedef {object} Record
 * @property {string | undefined} guid undefined: of the user's log
 * @property {number} offset in the log
 * @property {number | undefined} ackId of a receipt
 */

const MAX_ID = 65_535

export class InFlight {
  /** By packet id, oldest first; undefined before the first one. @type {Map<number, Record> | undefined} */
  #records
  #last = 0
  /** @type {Promise<void> | undefined} */
  #drained
  /** @type {(() => void) | undefined} */
  #resolve

  /** @param {number} most */
  constructor (most) { this.most = most }

  get size () { return this.#records?.size ?? 0 }
  get hasRoom () { return this.size < this.most }

  /** @param {import('../../documents/delivery/delivery.js').Delivery} delivery @returns {number} its packet id */
  add ({ publication, meta, receipt }) {
    this.#records ??= new Map()
    do this.#last = this.#last % MAX_ID + 1
    while (this.#records.has(this.#last))
    const offset = meta.offset ?? /** @type {any} */ (meta).user?.offset
    this.#records.set(this.#last, { guid: publication.guid, offset, ackId: receipt?.ackId })
    return this.#last
  }

  /** @param {number} id in flight @returns {number} */
  offsetOf (id) { return this.#records?.get(id)?.offset ?? 0 }

  /** @param {number} id @returns {Record | undefined} that the client has acknowledged */
  take (id) {
    const record = this.#records?.get(id)
    if (record === undefined) return undefined
    this.#records?.delete(id)
    // half of it at a time: a page of the log for each record would be too much
    if (this.size <= this.most / 2) this.#wake()
    return record
  }

  /** @param {string | undefined} guid @returns {number | undefined} least offset of its records; undefined: none */
  least (guid) {
    let least
    for (const record of this.#records?.values() ?? [])
      if (record.guid === guid) least = Math.min(least ?? Infinity, record.offset)
    return least
  }

  /** @param {string} guid whose records were withdrawn: the client may have got none of them */
  forget (guid) {
    for (const [id, record] of this.#records ?? []) if (record.guid === guid) this.take(id)
  }

  /** @returns {Promise<void> | undefined} resolves when there is room again, or at the end; undefined: there is room */
  drained () {
    if (this.hasRoom) return undefined
    return this.#drained ??= new Promise((resolve) => { this.#resolve = resolve })
  }

  end () {
    this.#records = undefined
    this.#wake()
  }

  #wake () {
    this.#resolve?.()
    this.#resolve = this.#drained = undefined
  }
}

/** Maximum requests without an answer. Above it the oldest is forgotten: its record is reported as missing. */
const MAX_RECEIPTS = 1000

/** Requests of the gateway for acknowledgements of records: the first tab that acknowledges one answers for all. */
export class SharedReceipts {
  /** Functions that acknowledge a record, by the id that the tabs get. @type {Map<number, Function>} */
  #open = new Map()
  #last = 0

  /** @param {Function} acknowledge @returns {number} id for the tabs */
  open (acknowledge) {
    if (this.#open.size >= MAX_RECEIPTS) this.#open.delete([...this.#open.keys()][0])
    this.#open.set(++this.#last, acknowledge)
    return this.#last
  }

  /** @param {number} id that a tab has acknowledged */
  acknowledge (id) {
    const acknowledge = this.#open.get(id)
    this.#open.delete(id)
    acknowledge?.()
  }

  /** The connection is lost. */
  clear () { this.#open.clear() }
}

/**
 * Checks what one client received of one document. The publisher numbers its records 1, 2, 3 …, and each record has an
 * offset in the log. The client drops records that it already has by their offsets; after that every record must arrive
 * exactly once and in order, or a resync must take its place.
 *
 * @typedef {import('../../src/wire/position.js').Position} Position
 * @typedef {'lost' | 'disordered' | 'doubled' | 'unneeded resync'} Fault
 */
export class Checker {
  /** The epoch is '' until the gateway reports one. @type {Position | null} */
  position = null
  /** Number of the last record; 0: none yet. */
  last = 0
  received = 0
  /** Duplicates, dropped by offset. */
  repeated = 0
  resyncs = 0
  /** Records that a resync replaced. */
  bridged = 0
  /** @type {{ fault: Fault, detail: string }[]} */
  faults = []
  #resynced = false

  /** @returns {Position | null} the position to resume from */
  get resumeFrom () { return this.position?.epoch ? this.position : null }

  /** @param {Position} position of the answer to a join */
  joined ({ epoch, offset }) {
    const { position } = this
    if (position === null) this.position = { epoch, offset }
    else if (position.epoch === '') this.position = { epoch, offset: Math.max(offset, position.offset) }
    else if (position.epoch !== epoch)
      this.#add('lost', `joined epoch ${epoch} without a resync from ${position.epoch}`)
    else if (offset > position.offset) this.#add('lost', `joined at ${offset} without a resync from ${position.offset}`)
  }

  /** @param {Position} to */
  resync (to) {
    const { position } = this
    this.resyncs++
    if (position?.epoch === to.epoch && to.offset <= position.offset)
      this.#add('unneeded resync', `from ${position.offset} to ${to.offset}`)
    this.position = { ...to }
    this.#resynced = true
  }

  /**
   * @param {number} number
   * @param {number} offset
   * @returns {boolean} whether the record is new to the client
   */
  record (number, offset) {
    this.position ??= { epoch: '', offset: offset - 1 }
    const { position, last } = this
    if (offset <= position.offset) {
      this.repeated++
      return false
    }
    if (offset > position.offset + 1) this.#add('lost', `offset ${offset} after ${position.offset}`)
    else if (last > 0 && number === last) this.#add('doubled', `number ${number} again, at offset ${offset}`)
    else if (number < last) this.#add('disordered', `number ${number} after ${last}`)
    else if (last > 0 && number > last + 1 && !this.#resynced)
      this.#add('lost', `number ${number} after ${last}, at offset ${offset}`)
    if (this.#resynced) this.bridged += Math.max(0, number - last - 1)
    this.#resynced = false
    position.offset = offset
    this.last = number
    this.received++
    return true
  }

  /** @param {Fault} fault @param {string} detail */
  #add (fault, detail) { this.faults.push({ fault, detail }) }
}

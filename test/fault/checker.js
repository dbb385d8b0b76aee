/**
 * What one client has of one document. Records are numbered 1, 2, 3 … by who publishes them, and have an offset in the
 * log: the client must get all of them in order and once, after it has dropped what it has already by the offset, or be
 * told to load the document again where something cannot be sent any more.
 *
 * @typedef {import('../../src/wire/position.js').Position} Position
 * @typedef {'lost' | 'disordered' | 'doubled' | 'unneeded resync'} Fault
 */
export class Checker {
  /** The epoch is '' until the client has been told. @type {Position | null} */
  position = null
  /** Number of the last record; 0: there was none. */
  last = 0
  received = 0
  /** Dropped because of their offsets. */
  repeated = 0
  resyncs = 0
  /** Records in place of which there was a resync. */
  bridged = 0
  /** @type {{ fault: Fault, detail: string }[]} */
  faults = []
  #resynced = false

  /** @returns {Position | null} what the client resumes from */
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
   * @returns {boolean} whether it is new for the client
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

/**
 * Checks what one page shows of one document against docs/protocol.md: each record once and in order, or a `doc:resync`
 * in its place. Records have the numbers 1, 2, 3 … of their writer.
 *
 * @typedef {{ epoch: string, offset: number }} Position
 */
export class DocumentChecker {
  /** @type {Position | null} */
  position = null
  /** Number of the last record, by writer. @type {Map<string, number>} */
  last = new Map()
  /** Since when no number of a writer was seen again after a resync. @type {Set<string>} */
  #known = new Set()
  /** Offset of the last record of this connection. */
  #sent = -1
  received = 0
  resyncs = 0

  /**
   * @param {string} name of the page and the document, for sentences
   * @param {(sentence: string) => void} violation
   * @param {() => boolean} mayResync whether something has happened for which docs/concepts.md allows it
   * @param {() => [writer: string, number: number][]} load what the service of the document has
   * @param {(writer: string, number: number) => boolean} [isLost] whether a record may have been lost
   * @param {() => boolean} [mayComeAgain] whether Redis may have lost keys, so that repeated requests are published
   *   late or again (docs/guarantees.md)
   */
  constructor (name, violation, mayResync, load, isLost = () => false, mayComeAgain = () => false) {
    this.name = name
    this.violation = violation
    this.mayResync = mayResync
    this.load = load
    this.isLost = isLost
    this.mayComeAgain = mayComeAgain
  }

  /**
   * A connection begins: it gets each record once. Without an answer to its first join the page has no position, and
   * loads the document at the next answer: that has what was shown, and what came between.
   */
  connected () {
    this.#sent = -1
    if (this.position?.epoch === '') this.loadsNext()
  }

  /** It loads the document at the next answer. */
  loadsNext () {
    this.position = null
    this.#known.clear()
  }

  /** @param {Position} position of the answer to a join */
  joined ({ epoch, offset }) {
    const { position } = this
    if (position === null || position.epoch === '') {
      this.position = { epoch, offset: Math.max(offset, position?.offset ?? 0) }
      return
    }
    if (position.epoch !== epoch) this.violation(`${this.name}: joined another log without a resync`)
    else if (offset > position.offset)
      this.violation(`${this.name}: joined at ${offset} without a resync from ${position.offset}`)
    this.position = { epoch, offset: Math.max(offset, position.offset) }
  }

  /** A record comes, shown or not. @param {number} offset */
  arrived (offset) {
    if (offset <= this.#sent) this.violation(`${this.name}: offset ${offset} after ${this.#sent} on one connection`)
    this.#sent = Math.max(this.#sent, offset)
  }

  /** @param {Position} to @param {string} reason */
  resync (to, reason) {
    this.resyncs++
    if (!this.mayResync()) this.violation(`${this.name}: a resync (${reason}) although no data was lost`)
    this.position = { ...to }
    this.#sent = -1
    this.#known.clear()
    for (const [writer, number] of this.load()) this.last.set(writer, number)
  }

  /** @param {string} writer @param {number} last @param {number} number */
  #follows (writer, last, number) {
    let next = last + 1
    while (next < number && this.isLost(writer, next)) next++
    return next === number
  }

  /**
   * A record that the page shows: what it has already, a client drops by its offset.
   * @param {string} writer
   * @param {number} number
   * @param {number} offset
   */
  shown (writer, number, offset) {
    this.position ??= { epoch: '', offset: offset - 1 }
    const { position } = this
    if (offset <= position.offset) return this.violation(`${this.name}: shows offset ${offset} after ${position.offset}`)
    if (offset > position.offset + 1) this.violation(`${this.name}: offset ${offset} after ${position.offset}`)
    position.offset = offset
    this.received++
    const last = this.last.get(writer)
    if (last !== undefined) {
      const isKnown = this.#known.has(writer)
      if (number <= last && this.mayComeAgain()) return
      if (isKnown && number === last) this.violation(`${this.name}: record ${number} of ${writer} twice`)
      else if (number < last && isKnown) this.violation(`${this.name}: record ${number} of ${writer} after ${last}`)
      else if (isKnown && !this.#follows(writer, last, number))
        this.violation(`${this.name}: record ${number} of ${writer} after ${last}: lost in between`)
    }
    this.#known.add(writer)
    this.last.set(writer, number)
  }
}

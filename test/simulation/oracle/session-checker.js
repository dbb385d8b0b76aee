import { DocumentChecker } from './document-checker.js'

/**
 * Checks what a client with a session of MQTT gets of one log: each record at least once and in order. Records come
 * again only at the beginning of a connection that continues a session, or that loads the document.
 */
export class SessionChecker extends DocumentChecker {
  /** Whether this connection may bring what the client has. */
  #mayRepeat = false
  /** Number of the last record of this connection, by writer. @type {Map<string, number>} */
  #own = new Map()
  repeated = 0

  /** A connection begins. @param {boolean} isResumed */
  begins (isResumed) {
    this.connected()
    this.#mayRepeat = isResumed
    this.#own.clear()
  }

  /**
   * The client has no place in the log, and loads the document.
   * @param {boolean} hadOne before
   */
  loads (hadOne) {
    if (hadOne) this.resync({ epoch: '', offset: 0 }, 'no session')
    this.loadsNext()
    this.#mayRepeat = true
    for (const [writer, number] of this.load()) this.last.set(writer, number)
  }

  /** @override @param {import('./document-checker.js').Position} to @param {string} reason */
  resync (to, reason) {
    super.resync(to, reason)
    this.#mayRepeat = true
    this.#own.clear()
  }

  /**
   * A record comes.
   * @param {string} writer
   * @param {number} number
   * @param {number} [offset] undefined: version 3.1.1 does not say it
   */
  got (writer, number, offset) {
    const own = this.#own.get(writer)
    if (own !== undefined && number <= own && !this.mayComeAgain())
      this.violation(`${this.name}: record ${number} of ${writer} after ${own} on one connection`)
    this.#own.set(writer, number)
    if (offset !== undefined) this.arrived(offset)
    // a session that Redis has from before a loss goes on in the log of then, with what the client has loaded since
    const { position } = this
    const skips = offset !== undefined && position !== null && offset > position.offset + 1
    if (skips && this.#mayRepeat && this.mayResync() && number <= (this.last.get(writer) ?? 0)) position.offset = offset
    if (this.#isKnown(writer, number, offset)) {
      this.repeated++
      if (!this.#mayRepeat) this.violation(`${this.name}: record ${number} of ${writer} again without a session`)
      return
    }
    const at = offset ?? (this.position?.offset ?? 0) + 1
    this.position ??= { epoch: 'of the session', offset: at - 1 }
    this.shown(writer, number, at)
  }

  /** @param {string} writer @param {number} number @param {number} [offset] */
  #isKnown (writer, number, offset) {
    return offset === undefined
      ? number <= (this.last.get(writer) ?? 0)
      : this.position !== null && offset <= this.position.offset
  }
}

/**
 * Counts the requests of all queues of a client. An edit that was in flight when the gateway cut the connection is a
 * suspect: it is sent when no other edit is in flight, so that another cut can only be for it.
 */
export class InFlight {
  #requests = 0
  #alone = false
  /** Functions of queues that wait, and whether each waits with a suspect. @type {Map<() => void, boolean>} */
  #waiting = new Map()

  /**
   * @param {boolean} suspect
   * @param {() => void} again called when its queue may try again
   * @returns {boolean} whether the edit may be sent now; then call `end`
   */
  begin (suspect, again) {
    const free = suspect ? this.#requests === 0 : !this.#alone && ![...this.#waiting.values()].includes(true)
    if (free) {
      this.#requests++
      this.#alone = suspect
    } else {
      // an edit is in flight: there will be an `end`
      this.#waiting.set(again, suspect)
    }
    return free
  }

  /** The edit was answered, or its connection is lost. */
  end () {
    this.#requests--
    this.#alone = false
    const waiting = [...this.#waiting].sort(([, one], [, other]) => Number(other) - Number(one))
    this.#waiting.clear()
    for (const [again] of waiting) again()
  }
}

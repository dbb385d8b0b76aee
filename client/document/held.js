/** Maximum events held. */
const MAX_HELD = 10_000

/** Events of a document that are held: until the first listener is added, or until the document is loaded. */
export class Held {
  /** @type {[string, any[]][]} */
  events = []
  /** Why events are held. @type {Set<string>} */
  reasons = new Set()
  #draining = false
  #dispatch

  /** @param {(event: string, args: any[]) => void} dispatch */
  constructor (dispatch) {
    this.#dispatch = dispatch
  }

  /**
   * Dispatches an event, or holds it.
   * @param {string} event
   * @param {any[]} args
   * @returns {boolean} false: too many are held already, and it was dropped
   */
  emit (event, args) {
    if (this.reasons.size === 0 && !this.#draining) this.#dispatch(event, args)
    else if (this.events.length >= MAX_HELD) return false
    else this.events.push([event, args])
    return true
  }

  /** @param {[string, any[]][]} [events] that replace those held */
  replace (events = []) { this.events = events }

  /** Ends one reason to hold; without any, the events are dispatched in order. @param {string} reason */
  release (reason) {
    this.reasons.delete(reason)
    if (this.#draining) return
    this.#draining = true
    try {
      while (this.events.length > 0 && this.reasons.size === 0)
        this.#dispatch(.../** @type {[string, any[]]} */ (this.events.shift()))
    } finally {
      this.#draining = false
    }
  }
}

/**
 * Calls a function of the page. If it throws, its error is thrown outside, where `window.onerror` or Node's
 * `uncaughtException` reports it.
 *
 * @param {Function} listener
 * @param {unknown[]} args
 * @returns {any}
 */
export function call (listener, ...args) {
  try {
    return listener(...args)
  } catch (error) {
    queueMicrotask(() => { throw error })
  }
}

/** Listeners by event name. A listener that throws does not affect the others. */
export class Emitter {
  /** Listeners by event; tools count them. @type {Map<string, Set<Function>>} */
  events = new Map()

  /**
   * @param {string} event
   * @param {Function} listener
   * @returns {() => void} removes the listener
   */
  on (event, listener) {
    this.events.set(event, (this.events.get(event) ?? new Set()).add(listener))
    return () => this.off(event, listener)
  }

  /** @param {string} event @param {Function} listener */
  off (event, listener) {
    const listeners = this.events.get(event)
    if (listeners?.delete(listener) && listeners.size === 0) this.events.delete(event)
  }

  /**
   * @param {string} event
   * @param {unknown[]} args
   * @returns {unknown[]} return values of the listeners
   */
  emit (event, ...args) {
    return [...this.events.get(event) ?? []].map((listener) => call(listener, ...args))
  }

  /** @param {string} event @returns {boolean} whether it has a listener */
  has (event) { return this.events.has(event) }

  clear () { this.events.clear() }
}

/**
 * Listeners by event name, as Yjs providers have them. A listener that throws does not affect the others: its error is
 * thrown outside, where `window.onerror` or Node's `uncaughtException` reports it.
 *
 * @template {Record<string, (...args: any[]) => void>} Events
 */
export class Emitter {
  /** @type {Map<keyof Events, Set<Function>>} */
  #listeners = new Map()

  /**
   * @template {keyof Events} E
   * @param {E} event
   * @param {Events[E]} listener
   * @returns {() => void} removes the listener
   */
  on (event, listener) {
    let listeners = this.#listeners.get(event)
    if (listeners === undefined) this.#listeners.set(event, listeners = new Set())
    listeners.add(listener)
    return () => this.off(event, listener)
  }

  /**
   * @template {keyof Events} E
   * @param {E} event
   * @param {Events[E]} listener
   * @returns {() => void} removes the listener
   */
  once (event, listener) {
    const remove = this.on(event, /** @type {Events[E]} */ ((...args) => {
      remove()
      listener(...args)
    }))
    return remove
  }

  /**
   * @template {keyof Events} E
   * @param {E} event
   * @param {Events[E]} listener
   */
  off (event, listener) { this.#listeners.get(event)?.delete(listener) }

  /**
   * @template {keyof Events} E
   * @param {E} event
   * @param {Parameters<Events[E]>} args
   */
  emit (event, ...args) {
    for (const listener of [...this.#listeners.get(event) ?? []]) {
      try {
        listener(...args)
      } catch (error) {
        queueMicrotask(() => { throw error })
      }
    }
  }

  /** Removes all listeners. */
  clear () { this.#listeners.clear() }
}

import { random } from '../common/random.js'

/** Messages that are remembered. */
const MAX_SENT = 1000

/**
 * Which tab has sent a message that the gateway publishes itself: all tabs have the connection id of the leader. The
 * trace id of a message, which the record keeps, is chosen here.
 */
export class Senders {
  /** Numbers of tabs by trace id. @type {Map<string, number>} */
  #sent = new Map()

  /**
   * @param {any} argument of `doc:send`
   * @param {number} tab its number
   * @returns {object} the argument with a trace id
   */
  mark (argument, tab) {
    const parent = argument.traceparent ?? `00-${hex(32)}-${hex(16)}-00`
    if (this.#sent.size >= MAX_SENT) this.#sent.delete([...this.#sent.keys()][0])
    this.#sent.set(parent.slice(3, 35), tab)
    return { ...argument, traceparent: parent }
  }

  /** @param {any} meta of a record @param {string | undefined} id of the connection @returns {number | undefined} */
  of (meta, id) { return meta?.from === id ? this.#sent.get(meta?.traceId) : undefined }
}

/** @param {number} length @returns {string} never only zeros, which would be no id */
const hex = (length) =>
  Array.from({ length }, () => Math.floor(1 + random.number() * 15).toString(16)).join('')

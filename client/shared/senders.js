import { random } from '../common/random.js'

/** Messages with a trace of their page that are remembered. */
const MAX_SENT = 1000

/**
 * Which tab has sent a message that the gateway publishes itself: all tabs have the connection id of their leader. The
 * trace id of a message, which its record keeps, is chosen here: it begins with hashes of the shared connection and of
 * the tab, so that each leader knows the sender of a record of any age. A message with a trace of its page keeps that
 * one: its sender is known to the leader that sent it, until the connection is lost; after that, a record of one tab
 * counts as a message of its own for all.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 */
export class Senders {
  #connection
  #idOfToday
  /** Names of tabs, by the trace id of a page. @type {Map<string, string>} */
  #sent = new Map()

  /**
   * @param {string} name of the shared connection
   * @param {() => string | undefined} idOfToday connection id
   */
  constructor (name, idOfToday) {
    this.#connection = hashOf(name)
    this.#idOfToday = idOfToday
  }

  /**
   * @param {any} argument of `doc:send`
   * @param {HubTab} tab
   * @returns {object} the argument with a trace id
   */
  mark (argument, tab) {
    const sender = nameOf(tab)
    const { traceparent } = argument
    if (traceparent === undefined)
      return { ...argument, traceparent: `00-${this.#connection}${sender}${hex(16)}-${hex(16)}-00` }
    if (this.#sent.size >= MAX_SENT) this.#sent.delete([...this.#sent.keys()][0])
    this.#sent.set(traceparent.slice(3, 35), sender)
    return argument
  }

  /** @param {any} meta of a record @returns {string | undefined} name of its tab; undefined: none of this connection */
  of (meta) {
    const { from, traceId } = meta ?? {}
    if (from === undefined) return undefined
    if (traceId?.startsWith(this.#connection)) return traceId.slice(8, 16)
    return from === this.#idOfToday() ? this.#sent.get(traceId) : undefined
  }

  /** @param {any} meta of a record @param {HubTab} tab @returns {any} the record's meta for that tab */
  metaFor (meta, tab) {
    const sender = this.of(meta)
    return sender === undefined || sender === nameOf(tab) ? meta : fromTab(meta, sender)
  }
}

/** @param {HubTab} tab @returns {string} the same for each leader: its client recognizes its own messages by it */
export const nameOf = ({ id, client = id }) => hashOf(client)

/** @param {any} meta of a message or signal @param {string} sender @returns {any} as if another client had sent it */
export const fromTab = (meta, sender) => ({ ...meta, from: `${meta.from}~${sender}` })

/** @param {string} text @returns {string} 8 digits, FNV-1a */
function hashOf (text) {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** @param {number} length @returns {string} never only zeros, which would be no id */
const hex = (length) =>
  Array.from({ length }, () => Math.floor(1 + random.number() * 15).toString(16)).join('')

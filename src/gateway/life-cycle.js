/**
 * The life of a connection, told in one place to whoever keeps something of it (sessions, presence): listeners are
 * parts of the worker, so that a connection has no closure of its own.
 *
 * All are called synchronously, in the order in which they were added. For one connection: `connected`, then `joined`
 * and `left` in pairs for each document, then `disconnected`. When a connection ends, `left` comes for each of its
 * documents before `disconnected`, with the same reason.
 *
 * @typedef {import('./connection.js').Connection} Connection
 *
 * @typedef {object} LifeCycleListener each is optional, and must be quick: handshakes and joins wait for it
 * @property {(connection: Connection) => void} [connected] it was admitted and its client is being told so
 * @property {(connection: Connection, guid: string, state?: Record<string, unknown>) => void} [joined] it has the
 *   document open from now on, before the client is told. Not for a document that it had open already
 * @property {(connection: Connection, guid: string, reason: EndReason) => void} [left] it no longer has the document
 *   open
 * @property {(connection: Connection, reason: EndReason) => void} [disconnected]
 *
 * @typedef {'left' | 'revoked' | 'closed' | 'timeout' | 'ended' | 'draining' | import('../common/errors.js').ErrorCode}
 *   EndReason `left`: doc:leave; `revoked`: access was taken away; for all others the connection has ended: `closed` by
 *   the client or on the way to it, `timeout` of the heartbeat, `ended` by the gateway (the error code the client was
 *   told, where there is one), `draining`
 */

/**
 * Socket.IO's words for the end of a connection; what is not here was done by the gateway.
 * @type {Record<string, EndReason>}
 */
const REASONS = {
  'client namespace disconnect': 'closed',
  'transport close': 'closed',
  'transport error': 'closed',
  'ping timeout': 'timeout',
  'server shutting down': 'draining'
}

export class LifeCycle {
  /** @type {LifeCycleListener[]} */
  #listeners
  #log

  /** @param {LifeCycleListener[]} listeners @param {import('../common/log.js').Log} log */
  constructor (listeners, log) {
    this.#listeners = [...listeners]
    this.#log = log
  }

  /** @param {LifeCycleListener} listener before there are connections */
  add (listener) { this.#listeners.push(listener) }

  /** @param {Connection} connection */
  connected (connection) { this.#tell('connected', connection) }

  /** @param {Connection} connection @param {string} guid @param {Record<string, unknown>} [state] */
  joined (connection, guid, state) { this.#tell('joined', connection, guid, state) }

  /** @param {Connection} connection @param {string} guid @param {EndReason} reason */
  left (connection, guid, reason) { this.#tell('left', connection, guid, reason) }

  /** @param {Connection} connection @param {EndReason} reason */
  disconnected (connection, reason) { this.#tell('disconnected', connection, reason) }

  /**
   * What fails in one listener keeps neither the others nor the connection from going on.
   * @param {keyof LifeCycleListener} event
   * @param {[Connection, any?, any?]} args
   */
  #tell (event, ...args) {
    for (const listener of this.#listeners) {
      try {
        listener[event]?.(...args)
      } catch (error) {
        this.#log.error({ err: error, event }, 'a listener to connections failed')
      }
    }
  }
}

/**
 * Why a connection has ended.
 * @param {Connection} connection
 * @param {string} reason Socket.IO's
 * @param {boolean} draining
 * @returns {EndReason}
 */
export function endReason (connection, reason, draining) {
  if (connection.endCode !== null) return connection.endCode
  if (draining) return 'draining'
  return REASONS[reason] ?? 'ended'
}

import { happened } from '../observe/metrics/points.js'

/**
 * Events of a connection's life for the parts that keep state about it (sessions, presence). Listeners belong to the
 * worker, so that a connection needs no closure of its own.
 *
 * Listeners are called synchronously, in the order in which they were added. The sequence for one connection:
 * `connected`, then `joined` and `left` in pairs for each document, then `disconnected`. When a connection ends, `left`
 * is called for each of its documents before `disconnected`, with the same reason.
 *
 * @typedef {import('./connection.js').Connection} Connection
 *
 * @typedef {object} ConnectionListener all are optional and must be quick, because handshakes and joins wait for them
 * @property {(connection: Connection) => void} [connected] the connection was admitted and its client is being notified
 * @property {(connection: Connection, guid: string, state?: Record<string, unknown>) => void} [joined] the document is
 *   open from now on; called before the client is notified, and not for a document that was open already
 * @property {(connection: Connection, guid: string, reason: EndReason) => void} [left] the document is no longer open
 * @property {(connection: Connection, reason: EndReason) => void} [disconnected]
 *
 * @typedef {'left' | 'revoked' | 'closed' | 'timeout' | 'ended' | 'draining' |
 *   import('../base/common/errors.js').ErrorCode}
 *   EndReason `left`: doc:leave, or the operators close and leave; `revoked`: access was revoked; with all others the
 *   connection has ended: `closed` by the client or on the network, `timeout` of the heartbeat, `ended` by the gateway
 *   (or the error code sent to the client), `draining`

/**
 * Socket.IO's reasons for the end of a connection; reasons that are missing here come from the gateway itself.
 * @type {Record<string, EndReason>}
 */
const REASONS = {
  'client namespace disconnect': 'closed',
  'transport close': 'closed',
  'transport error': 'closed',
  'ping timeout': 'timeout',
  'server shutting down': 'draining'
}

export class ConnectionListeners {
  /** @type {ConnectionListener[]} */
  #listeners
  #log

  /** @param {ConnectionListener[]} listeners @param {import('../base/common/log.js').Log} log */
  constructor (listeners, log) {
    this.#listeners = [...listeners]
    this.#log = log
  }

  /** Call before the first connection. @param {ConnectionListener} listener */
  add (listener) { this.#listeners.push(listener) }

  /** @param {Connection} connection */
  connected (connection) { this.#tell('connected', connection) }

  /** @param {Connection} connection @param {string} guid @param {Record<string, unknown>} [state] */
  joined (connection, guid, state) { this.#tell('joined', connection, guid, state) }

  /** @param {Connection} connection @param {string} guid @param {EndReason} reason */
  left (connection, guid, reason) {
    this.#tell('left', connection, guid, reason)
    if (happened.hasSubscribers) connection.tell('left', { guid, reason })
  }

  /** @param {Connection} connection @param {EndReason} reason */
  disconnected (connection, reason) { this.#tell('disconnected', connection, reason) }

  /**
   * An error in one listener affects neither the other listeners nor the connection.
   * @param {keyof ConnectionListener} event
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

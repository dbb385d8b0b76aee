import { canShare, keyOf } from './key.js'
import { Seat } from './seat.js'
import { transportOf } from './tab-transport.js'

/**
 * One connection for all tabs of a browser (the option `shared`). Each tab has its own client, with its own documents,
 * positions and outbox; only the transport below Socket.IO is another one: it leads to the tab that has the connection,
 * the *leader*, whose hub (hub.js) sends each message to the tabs that it is for. A tab that becomes the leader has no
 * state to take over: all tabs connect to it as after a lost connection, each from its own position.
 */

/**
 * @param {any} manager Socket.IO's
 * @param {import('../connection/options.js').ClientOptions} options of the client
 * @param {string | undefined} token of the next handshake
 * @param {import('./hub.js').Connect} Connection
 * @returns {Promise<any[] | undefined>} transports for Socket.IO; those of the client, if it connects by itself
 */
export async function tabTransports (manager, options, token, Connection) {
  const name = canShare() ? await keyOf(manager.uri, options, token) : undefined
  /** @type {Seat | undefined} */
  const before = manager.opts.transports?.[0]?.seat
  if (before?.name === name && before?.isRefused === false) {
    before.take()
    return manager.opts.transports
  }
  before?.leave(false)
  if (name === undefined || before?.isRefused) return options.transports
  const seat = new Seat({ name, options, manager, Connection })
  seat.take()
  return [transportOf(seat)]
}

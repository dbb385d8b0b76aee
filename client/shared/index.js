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
 * @param {any} manager Socket.IO's; its `seat` is left when the client is closed
 * @param {import('../connection/options.js').ClientOptions} options of the client
 * @param {string | undefined} token of the next handshake
 * @param {{ constructor: Function }} connection of the client; the hub makes one of the same class
 * @param {() => boolean} isCurrent whether the attempt has not been replaced or ended
 * @returns {Promise<any[] | undefined>} transports for Socket.IO; those of the client, if it connects by itself
 */
export async function tabTransports (manager, options, token, connection, isCurrent) {
  const name = canShare() ? await keyOf(manager.uri, options, token) : undefined
  // a seat would never be left, or be that of an older token
  if (!isCurrent()) return undefined
  /** @type {Seat | undefined} */
  const before = manager.seat
  if (before?.name !== name || before?.isRefused !== false) {
    before?.leave(false)
    const isAlone = name === undefined || before?.isRefused
    const Connection = /** @type {import('./hub.js').Connect} */ (connection.constructor)
    manager.seat = isAlone ? undefined : new Seat({ name, options, manager, Connection })
  }
  manager.seat?.take()
  return manager.seat ? [transportOf(manager.seat)] : options.transports
}

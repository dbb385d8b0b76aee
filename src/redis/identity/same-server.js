import { Backoff } from '../../base/common/backoff.js'

/**
 * Keeps subscribers at the server that receives commands: no publication reaches the master before a failover, which
 * may go on, isolated, or come back from a hang as a master for a while. A subscriber that gets there after the
 * connection for commands has left it is found when it knows its server.
 *
 * @typedef {import('../subscriber-connection.js').SubscriberConnection} SubscriberConnection
 */

/** Before a subscriber that is alone at a server reconnects, ms: the connection for commands may be the late one. */
const PAUSE = { min: 500, max: 5000 }

/**
 * @param {() => Iterable<SubscriberConnection>} connections
 * @param {import('../reconnecting-connection.js').Sources} sources
 */
export function createSameServer (connections, { clock, random }) {
  const backoff = new Backoff({ ...PAUSE, random })
  /** Of the server that receives commands; undefined: unknown. @type {string | undefined} */
  let followed
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let checking

  /** @param {SubscriberConnection} connection */
  const isElsewhere = ({ ready, server }) =>
    followed !== undefined && ready && server !== undefined && server !== followed

  /** Subscribers that are elsewhere reconnect. */
  function check () {
    for (const connection of connections()) if (isElsewhere(connection)) connection.reconnect()
  }

  return {
    /** @param {import('./identity.js').Identity} identity of the server that receives commands from now on */
    follow ({ server }) {
      if (server === undefined) return
      followed = server
      check()
    },

    /** @param {SubscriberConnection} connection that knows its server */
    known (connection) {
      if (!isElsewhere(connection)) return backoff.reset()
      checking ??= clock.timer(backoff.next(), () => {
        checking = undefined
        check()
      }).unref()
    },

    stop () { checking?.stop() }
  }
}

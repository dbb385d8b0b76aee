/**
 * Ends connections whose token expires, after a warning. Connections are kept by the second in which something is
 * due, so that a tick costs nothing where nothing is.
 *
 * @typedef {import('./connection.js').Connection} Connection
 */

/** How long before its end a client hears of it, ms: enough to fetch a new token. */
const WARNING = 60_000

const TICK = 1000

/**
 * @param {object} dependencies
 * @param {import('../clock.js').Clock} dependencies.clock
 */
export function createExpiry ({ clock }) {
  /** @type {Map<number, Set<Connection>>} by second; at most one entry per connection */
  const due = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let done = 0

  /** @param {Connection} connection @param {number} at ms */
  function put (connection, at) {
    const second = Math.max(Math.ceil(at / TICK), done + 1)
    let connections = due.get(second)
    if (connections === undefined) due.set(second, connections = new Set())
    connections.add(connection)
    connection.expiresIn = second
  }

  /** @param {Connection} connection */
  function forget (connection) {
    const second = connection.expiresIn
    if (second === 0) return
    connection.expiresIn = 0
    const connections = due.get(second)
    connections?.delete(connection)
    if (connections?.size === 0) due.delete(second)
  }

  /** A clock that was set back makes nothing due later than its own time. @param {number} now ms since 1970 */
  const follow = (now) => { done = Math.min(done, Math.floor(now / TICK)) }

  function tick () {
    const now = clock.now()
    follow(now)
    for (let second = Math.floor(now / TICK); done < second; done++) {
      for (const connection of due.get(done + 1) ?? []) {
        connection.expiresIn = 0
        const { expiresAt } = connection.identity
        if (expiresAt === null) continue
        if (now >= expiresAt) {
          connection.disconnect('token_expired')
        } else {
          connection.socket.emit('auth:expiring', { inMs: expiresAt - now })
          put(connection, expiresAt)
        }
      }
      due.delete(done + 1)
    }
  }

  return {
    start () {
      done = Math.floor(clock.now() / TICK)
      timer = setInterval(tick, TICK)
      timer.unref()
    },
    stop () { clearInterval(timer) },
    tick,
    forget,
    /** @param {Connection} connection (again) after it got an identity */
    watch (connection) {
      forget(connection)
      const { expiresAt } = connection.identity
      if (expiresAt === null) return
      const now = clock.now()
      follow(now)
      put(connection, expiresAt - now > WARNING ? expiresAt - WARNING : expiresAt - now > 5000 ? now + TICK : expiresAt)
    }
  }
}

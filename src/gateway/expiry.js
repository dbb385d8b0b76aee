/**
 * Closes connections after a warning when their token expires or its signing key is withdrawn by the issuer.
 * Connections are grouped by the second in which they are due, so that a tick without due connections costs nothing.
 *
 * @typedef {import('./connection.js').Connection} Connection
 */

/** Time between the warning and the end of the connection, ms: enough to fetch a new token. */
const WARNING = 60_000

/**
 * Time from the withdrawal of a key to the end of its connections. Clients are warned one by one in the first half, so
 * that they don't all fetch new tokens at once.
 */
const WITHDRAWAL = 2 * WARNING

const TICK = 1000
/** Connections that are handled in one turn of the event loop, about 10 ms: deliveries to others go on in between. */
const BATCH = 100

export class Expiry {
  #clock
  #random
  /** @type {Map<number, Set<Connection>>} by second; at most one entry per connection */
  #due = new Map()
  /** The last second whose connections were handled. */
  #done = 0
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  /**
   * The next turn, while more are due than one handles.
   * @type {Pick<import('../base/common/clock.js').Timer, 'stop'> | undefined}
   */
  #rest

  /**
   * @param {object} dependencies
   * @param {import('../base/common/clock.js').Clock} dependencies.clock
   * @param {Pick<import('../base/common/random.js').Random, 'number'>} dependencies.random
   */
  constructor ({ clock, random }) {
    this.#clock = clock
    this.#random = random
  }

  start () {
    this.#done = Math.floor(this.#clock.now() / TICK)
    this.#timer = this.#clock.every(TICK, () => this.tick()).unref()
  }

  stop () {
    this.#timer?.stop()
    this.#rest?.stop()
  }

  /** @param {Connection} connection with a new identity, or whose key was withdrawn; repeated calls replace */
  watch (connection) {
    this.forget(connection)
    const { identity } = connection
    const endsAt = endOf(identity)
    if (endsAt === null) return
    const now = this.#clock.now()
    this.#follow(now)
    const isWithdrawn = endsAt !== identity.expiresAt
    this.#put(
      connection,
      isWithdrawn
        ? now + this.#random.number() * Math.max(0, endsAt - WARNING - now)
        : endsAt - now > WARNING
          ? endsAt - WARNING
          : endsAt - now > 5000
            ? now + TICK
            : endsAt
    )
  }

  /** @param {Connection} connection */
  forget (connection) {
    const second = connection.expiresIn
    if (second === 0) return
    connection.expiresIn = 0
    const connections = this.#due.get(second)
    connections?.delete(connection)
    if (connections?.size === 0) this.#due.delete(second)
  }

  tick () {
    this.#rest?.stop()
    const now = this.#clock.now()
    this.#follow(now)
    let handled = 0
    for (let second = Math.floor(now / TICK); this.#done < second; this.#done++) {
      const due = this.#due.get(this.#done + 1)
      for (const connection of due ?? []) {
        if (handled++ === BATCH) {
          this.#rest = this.#clock.soon(() => this.tick())
          return
        }
        due?.delete(connection)
        this.#handle(connection, now)
      }
      this.#due.delete(this.#done + 1)
    }
  }

  /** @param {Connection} connection that is due @param {number} now ms since 1970 */
  #handle (connection, now) {
    connection.expiresIn = 0
    const endsAt = endOf(connection.identity)
    if (endsAt === null) return
    if (now >= endsAt) {
      connection.disconnect('token_expired')
    } else if (endsAt - now > WITHDRAWAL) {
      // the withdrawal of its key was a mistake and has been reverted
      this.#put(connection, endsAt - WARNING)
    } else {
      connection.send('auth:expiring', { inMs: endsAt - now })
      this.#put(connection, endsAt)
    }
  }

  /** @param {Connection} connection @param {number} at ms */
  #put (connection, at) {
    const second = Math.max(Math.ceil(at / TICK), this.#done + 1)
    let connections = this.#due.get(second)
    if (connections === undefined) this.#due.set(second, connections = new Set())
    connections.add(connection)
    connection.expiresIn = second
  }

  /** After the clock was set back, makes nothing due later than its own time. @param {number} now ms since 1970 */
  #follow (now) { this.#done = Math.min(this.#done, Math.floor(now / TICK)) }
}

/**
 * @param {import('../people/auth/identity.js').Identity} identity @returns {number | null} ms since 1970; null: never
 */
function endOf ({ expiresAt, key }) {
  const withdrawnAt = key?.withdrawnAt
  return withdrawnAt == null ? expiresAt : Math.min(expiresAt ?? Infinity, withdrawnAt + WITHDRAWAL)
}

import { Backoff, retry } from '../base/common/backoff.js'
import { userLog } from '../wire/publication.js'

/**
 * Connections that read the log of their user: those with `user` in the handshake. A user's log is a log like that of a
 * document, under a name that no client can open, so gaps, slow connections and resyncs are those of documents.
 *
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('../wire/position.js').Position} Position
 * @typedef {{ since: Position, resumes: boolean }} Beginning resumes: the client gave the position
 */

/** The membership of a connection in its user's log. */
class Reader {
  wanted = true
  joined = false

  /**
   * @param {Connection} connection
   * @param {Position} since advances with each record replayed
   * @param {boolean} resumes whether the client gave `since`
   */
  constructor (connection, since, resumes) {
    this.connection = connection
    this.since = since
    this.resumes = resumes
  }

  get id () { return this.connection.id }
  get client () { return this.connection.client }
  get sender () { return this.connection.sender }
  /** @param {any} delivery */
  deliver (delivery) { return this.connection.deliver(delivery) }
  drained () { return this.connection.drained() }
  fellBehind () { this.connection.fellBehind() }
  caughtUp () { this.connection.caughtUp() }

  /** @param {string} _ @param {Position} position @param {string} reason */
  resync (_, position, reason) { this.connection.send('gateway:resync', { position, reason }) }

  /** @param {string} _ @param {Position} position */
  passedOver (_, position) { this.connection.send('gateway:position', { position }) }
}

export class UserLogs {
  #feeds
  #bus
  #metrics
  #log
  #clock
  #random
  /** @type {WeakMap<Connection, Reader>} */
  #readers = new WeakMap()

  /**
   * @param {object} dependencies
   * @param {Pick<import('../documents/feeds.js').Feeds, 'join' | 'leave' | 'position'>} dependencies.feeds
   * @param {Pick<import('../log/bus/contract.js').Bus, 'history'>} dependencies.bus
   * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../base/common/clock.js').Clock, 'sleep'>} dependencies.clock
   * @param {import('../base/common/random.js').Random} dependencies.random
   */
  constructor ({ feeds, bus, metrics, log, clock, random }) {
    this.#feeds = feeds
    this.#bus = bus
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
    this.#random = random
  }

  /**
   * Called during the handshake: where reading begins is known before the client is connected, and everything that is
   * published later is in the log after it.
   *
   * @param {string} uid
   * @param {Position | null} since the client's; null: from now on
   * @returns {Promise<Beginning>} rejects with `unavailable` or `timeout`
   */
  async begin (uid, since) {
    if (since !== null) return { since, resumes: true }
    const { position } = await this.#bus.history(userLog(uid), { epoch: '', offset: 0 }, 1)
    return { since: position, resumes: false }
  }

  /** @param {Connection} connection that will be connected @param {Beginning} beginning */
  prepare (connection, { since, resumes }) {
    this.#readers.set(connection, new Reader(connection, { ...since }, resumes))
  }

  /** Begins to read for a connection that asked for it. @param {Connection} connection connected */
  join (connection) {
    const reader = this.#readers.get(connection)
    if (reader !== undefined)
      this.#join(reader).catch((error) => this.#log.error({ err: error }, 'the log of a user is not read'))
  }

  /** @param {Connection} connection @returns {boolean} whether it reads its user's log, or is about to */
  has (connection) { return this.#readers.has(connection) }

  /** @param {Connection} connection @returns {Position | undefined} of the last record that it got of its user's log */
  positionOf (connection) {
    const reader = this.#readers.get(connection)
    return reader?.joined ? this.#feeds.position(userLog(connection.uid), reader) : reader?.since
  }

  /** @param {Connection} connection that has ended */
  leave (connection) {
    const reader = this.#readers.get(connection)
    if (reader === undefined) return
    reader.wanted = false
    this.#readers.delete(connection)
    this.#feeds.leave(userLog(connection.uid), reader)
  }

  /** Joins until it succeeds or the connection has ended. @param {Reader} reader */
  async #join (reader) {
    const { connection, since, resumes } = reader
    const wanted = () => reader.wanted && connection.open
    await retry(async () => {
      if (!wanted()) return
      const { position, recovered } = await this.#feeds.join(userLog(connection.uid), reader, since, wanted)
      reader.joined = wanted()
      if (wanted()) connection.send('gateway:user', { position, recovered: recovered && resumes })
    }, {
      clock: this.#clock,
      backoff: new Backoff({ min: 100, random: this.#random }),
      onFailure: (error) => {
        this.#metrics.bus_errors.inc({ operation: 'history' })
        this.#log.debug({ err: error }, 'the log of a user cannot be read, retrying')
      }
    })
  }
}

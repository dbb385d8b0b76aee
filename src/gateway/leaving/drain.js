/**
 * The drain of a stopping worker, within DRAIN_TIMEOUT: it leaves the port, asks all clients to reconnect to another
 * worker, closes their connections in batches, and waits until all are closed.
 */

/**
 * Connections per batch and the pause between batches, ms: 100 connections/s, or more if needed to finish in half of
 * DRAIN_TIMEOUT. The workers that take these clients over are busy too.
 */
const BATCH = 5
const PAUSE = 50
/**
 * Time for clients whose connect was in progress when the drain began, to finish it and be sent away, ms; at most half
 * of DRAIN_TIMEOUT.
 */
const GRACE = 5000
/** Time that a client between two requests has to send the next one while the worker drains, ms. */
const IDLE_GRACE = 500

export class Drain {
  #directory
  #ports
  #sessions
  #misrouted
  #alone
  #timeout
  #clock
  /** @type {'serving' | 'draining' | 'left'} left: draining, and the ports are closed */
  #state = 'serving'
  #begun = 0

  /**
   * @param {object} dependencies
   * @param {import('../directory.js').Directory} dependencies.directory
   * @param {Pick<import('../ports.js').Ports, 'leave' | 'closeIdleConnections'>} dependencies.ports
   * @param {() => number} dependencies.sessions open Engine.IO sessions; other workers may still forward requests of
   *   polling sessions
   * @param {Pick<import('../../transport/peers/misrouted-requests.js').MisroutedRequests, 'releaseAll'>}
   *   [dependencies.misrouted]
   * @param {boolean} dependencies.alone whether no other process takes over the ports
   * @param {number} dependencies.timeout DRAIN_TIMEOUT, ms
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon' | 'sleep'>}
   *   dependencies.clock
   */
  constructor ({ directory, ports, sessions, misrouted, alone, timeout, clock }) {
    this.#directory = directory
    this.#ports = ports
    this.#sessions = sessions
    this.#misrouted = misrouted
    this.#alone = alone
    this.#timeout = timeout
    this.#clock = clock
  }

  /** Whether the worker is draining: new clients are refused and reconnect to another one. */
  get active () { return this.#state !== 'serving' }

  /** @returns {number} ms until DRAIN_TIMEOUT is over */
  get remaining () { return Math.max(0, this.#begun + this.#timeout - this.#clock.monotonic()) }

  begin () {
    this.#state = 'draining'
    this.#begun = this.#clock.monotonic()
  }

  /** Leaves the ports, announces the drain to all clients, and closes their connections in batches. */
  async sendAway () {
    const left = this.#ports.leave(() => { this.#state = 'left' })
    for (const connection of this.#directory.all()) connection.tellDraining()
    const open = [...this.#directory.all()]
    const batch = Math.max(BATCH, Math.ceil((open.length * PAUSE) / Math.max(1, this.#timeout / 2)))
    for (let at = 0; at < open.length; at += batch) {
      for (const connection of open.slice(at, at + batch)) connection.goAway()
      if (at + batch < open.length && this.remaining > 0) await this.#clock.sleep(PAUSE)
    }
    await left
  }

  /** Waits until all sessions are closed, including those whose connect was in progress. */
  async finish () {
    const clock = this.#clock
    const releasing = clock.every(PAUSE, () => this.#misrouted?.releaseAll())
    const grace = this.#alone ? IDLE_GRACE : Math.min(GRACE, this.#timeout / 2)
    const end = clock.monotonic() + Math.min(this.remaining, grace)
    while (this.#sessions() > 0 || !(this.#state === 'left' || this.#alone)) {
      const now = clock.monotonic()
      // requests that came by now are read first: this process may have had no time for them
      await new Promise((resolve) => { clock.soon(() => resolve(undefined)) })
      if (now >= end) break
      if (now > this.#begun + IDLE_GRACE) this.#ports.closeIdleConnections()
      await clock.sleep(10)
    }
    releasing.stop()
  }
}

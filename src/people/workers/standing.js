import { Backoff, retry } from '../../base/common/backoff.js'

/**
 * Whether this worker may exercise the rights of its clients.
 *
 * Kicks, revokes, bans and closes count as carried out when the lease of a worker has ended: the cluster does not wait
 * for it. So without a valid lease its clients get `unavailable`. A worker whose lease had ended first carries out the
 * orders that it has missed, and registers its users again, because their registrations may have expired, or be lost
 * with the data of Redis: orders that were accepted then were kept for no worker. Only a lease that was held without a
 * gap shows that none was missed. While users are registered again, orders about users are refused elsewhere
 * (renew.lua, "settling").
 */
export class Standing {
  #lease
  #catchUp
  #log
  #clock
  #random
  #stopping = new AbortController()
  /** Orders of the time without a lease may not have been carried out yet. */
  #behind = false
  /** Number of the newest loss: a catch-up that began before it proves nothing. */
  #losses = 0
  #running = false

  /**
   * @param {object} dependencies
   * @param {Pick<import('./worker-lease.js').WorkerLease, 'held' | 'settles'>}
   *   dependencies.lease
   * @param {() => Promise<unknown>} dependencies.catchUp carries out missed orders, and registers all users again
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {import('../../base/common/clock.js').Clock} dependencies.clock
   * @param {import('../../base/common/random.js').Random} dependencies.random
   */
  constructor ({ lease, catchUp, log, clock, random }) {
    this.#lease = lease
    this.#catchUp = catchUp
    this.#log = log
    this.#clock = clock
    this.#random = random
  }

  /** Whether clients may use their rights on this worker now. */
  get good () { return !this.#behind && this.#lease.held }

  /** The lease had ended: the cluster may have accepted orders without this worker. */
  missed () {
    this.#behind = true
    this.lost()
  }

  /** Redis may have lost the registrations of this worker's users. */
  lost () {
    this.#losses++
    this.#lease.settles(true)
    if (!this.#running) this.#settle()
  }

  async #settle () {
    this.#running = true
    try {
      for (let settled = 0; settled !== this.#losses;) {
        settled = this.#losses
        await retry(() => this.#catchUp(), {
          signal: this.#stopping.signal,
          clock: this.#clock,
          backoff: new Backoff({ min: 100, max: 5000, random: this.#random }),
          onFailure: (error) => this.#log.debug({ err: error }, 'missed orders could not be read, retrying')
        })
      }
      this.#behind = false
      this.#lease.settles(false)
    } catch {
      // stopped
    } finally {
      this.#running = false
    }
  }

  stop () { this.#stopping.abort() }
}

import { duplexPair } from 'node:stream'

/**
 * The part of Redis 7.0 that inkcast uses, in memory of this process.
 *
 * @param {object} dependencies
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {import('../common/random.js').Random} dependencies.random
 */
export const createStore = ({ clock, random }) => new Store(clock, random)

export class Store {
  /**
   * @param {import('../common/clock.js').Clock} clock
   * @param {import('../common/random.js').Random} random
   */
  constructor (clock, random) {
    this.clock = clock
    this.random = random
  }

  /** @returns {import('node:stream').Duplex} the client's end of a new connection */
  connect () {
    const [client] = duplexPair()
    return client
  }
}

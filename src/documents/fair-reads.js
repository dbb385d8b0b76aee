import { InkcastError } from '../base/common/errors.js'
import { FairTurns } from '../base/common/fair-turns.js'

/** Concurrent reads: the answers of Redis are up to 4 MB, and everything else of the process waits behind them. */
const MAX_READS = 4
/** Reads that wait, of all together. */
const MAX_WAITING = 1000

/** Reads of logs for one answer each, a few at the same time; askers take turns. */
export class FairReads {
  #turns = new FairTurns({
    atOnce: MAX_READS, maxWaiting: MAX_WAITING, refusal: 'too many histories are being read; try again'
  })

  /**
   * @template {Pick<import('../log/bus/contract.js').Bus, 'history'>} B
   * @param {B} bus
   * @param {string} who asks
   * @returns {B} with `history` in turn
   */
  of (bus, who) {
    return {
      ...bus,
      history: (...args) => this.#turns.run(who, async () => {
        try {
          return await bus.history(...args)
        } catch (error) {
          // Redis does not answer: one after the other would wait for as long. Other errors are those of one document.
          if (error instanceof InkcastError && error.code === 'unavailable') this.#turns.failWaiting(error)
          throw error
        }
      })
    }
  }
}

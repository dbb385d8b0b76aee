import { Call } from './call.js'
import { KafkaError } from './errors.js'
import { Lane } from './lane.js'

/** Time after which a driver takes a request for lost, ms. */
const REQUEST_TIMEOUT = 8000
/** Pauses of a driver between its attempts, ms. */
const PAUSE = { first: 100, longest: 1000 }
/** Attempts of requests for which the caller names no number: for about a minute. */
export const PATIENT = 60

/**
 * @template T
 * @typedef {import('./call.js').Reply<T>} Reply
 */

/**
 * A connection of a process to the broker: requests and answers keep their order. What comes back runs in a turn of the
 * process, so that one that is killed gets nothing and one that is paused gets it later.
 */
export class Link {
  /** Nothing leaves a process any more after the moment of its death, which is in this turn. */
  #isDying = false

  /** @param {import('../broker.js').Broker} broker @param {import('../../world/sim-process.js').SimProcess} process */
  constructor (broker, process) {
    this.broker = broker
    this.process = process
    this.asks = new Lane(broker, process)
    this.answers = new Lane(broker, process)
  }

  /**
   * @template T
   * @param {string} kind for the trace
   * @param {(reply: Reply<T>) => void} carryOut runs at the broker; replies once, perhaps later
   * @param {{ timeout?: number, writes?: boolean }} [options] writes: it may be carried out although its answer is lost
   * @returns {Promise<T>} rejects with a KafkaError
   */
  ask (kind, carryOut, { timeout = REQUEST_TIMEOUT, writes = false } = {}) {
    const { broker, process } = this
    return new Promise((resolve, reject) => {
      const call = new Call(this, { kind, carryOut, timeout, writes }, { resolve, reject })
      this.#isDying ||= process.lastShare < 1 && !broker.random.chance(process.lastShare)
      if (!this.#isDying) call.leave()
    })
  }

  /**
   * As a driver that tries again what may pass.
   * @template T
   * @param {() => Promise<T>} attempt
   * @param {{ tries?: number, isOver?: () => boolean }} [options]
   * @returns {Promise<T>}
   */
  async retried (attempt, { tries = PATIENT, isOver = () => false } = {}) {
    for (let pause = PAUSE.first; ; pause = Math.min(2 * pause, PAUSE.longest)) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof KafkaError) || !error.retriable || --tries < 1 || isOver()) throw error
        await this.sleep(pause * (0.8 + 0.4 * this.broker.random.number()))
        if (isOver()) throw error
      }
    }
  }

  /** @param {number} ms @returns {Promise<void>} */
  sleep (ms) {
    return new Promise((resolve) => { this.broker.world.schedule(ms, 'kafka pause', resolve, this.process) })
  }
}

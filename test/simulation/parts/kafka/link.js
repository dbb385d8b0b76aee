import { KafkaError } from './errors.js'

/** Time after which a driver takes a request for lost, ms. */
const REQUEST_TIMEOUT = 8000
/** Pauses of a driver between its attempts, ms. */
const PAUSE = { first: 100, longest: 1000 }
/** Share of the writes without an answer that are carried out. */
const CARRIED_OUT = 0.3
/** Attempts of requests for which the caller names no number: for about a minute. */
export const PATIENT = 60

/**
 * @template T
 * @typedef {(error: KafkaError | undefined, value?: T) => void} Reply
 */

/**
 * A request whose answer has not come yet.
 * @typedef {object} Call
 * @property {(isNoticed: boolean) => void} cut its connection breaks: what is on the way is lost
 */

/**
 * A connection of a process to the broker: requests and answers keep their order. What comes back runs in a turn of the
 * process, so that one that is killed gets nothing and one that is paused gets it later.
 */
export class Link {
  #asksUntil = 0
  #answersUntil = 0
  /** Nothing of a process leaves it any more after the moment of its death, which is in this turn. */
  #isCut = false

  /** @param {import('../broker.js').Broker} broker @param {import('../../world/sim-process.js').SimProcess} process */
  constructor (broker, process) {
    this.broker = broker
    this.process = process
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
    const { world, random } = broker
    return new Promise((resolve, reject) => {
      let isOver = false
      /** @param {KafkaError | undefined} error @param {any} [value] */
      const settle = (error, value) => {
        if (isOver) return
        isOver = true
        late.canceled = true
        broker.calls.get(process)?.delete(call)
        if (error === undefined) resolve(value)
        else reject(error)
      }
      const late = world.schedule(timeout, `kafka ${kind} timeout`, () => {
        settle(new KafkaError('REQUEST_TIMED_OUT'))
      }, process)
      let isCut = false
      /** @type {Call} */
      const call = {
        cut (isNoticed) {
          if (isCut) return
          isCut = true
          if (isNoticed) world.schedule(broker.latency(process), `kafka ${kind} cut`, () => {
            settle(new KafkaError('CONNECTION'))
          }, process)
        }
      }
      let isAnswered = false
      /** @type {Reply<T>} */
      const answer = (error, value) => {
        if (isAnswered || isCut) return
        isAnswered = true
        this.#answersUntil = Math.max(this.#answersUntil, world.time + broker.latency(process))
        const sent = world.trace.sent(world.time, broker.process, process, Buffer.from(`${kind}: ${error?.type ?? 'done'}`))
        const arrive = () => {
          const wait = world.network.blockedUntil(broker.process, process) - world.time
          if (wait > 0) return void world.schedule(wait, `kafka ${kind} answer`, arrive, process)
          if (isCut) return
          if (sent !== undefined) sent.until = world.time
          settle(error, value)
        }
        world.schedule(this.#answersUntil - world.time, `kafka ${kind} answer`, arrive, process)
      }
      this.#isCut ||= process.lastShare < 1 && !random.chance(process.lastShare)
      if (this.#isCut) return
      broker.calls.get(process)?.add(call)
      const sent = world.trace.sent(world.time, process, broker.process, Buffer.from(kind))
      this.#asksUntil = Math.max(this.#asksUntil, world.time + broker.latency(process))
      const arrive = () => {
        const wait = world.network.blockedUntil(process, broker.process) - world.time
        if (wait > 0) return void world.schedule(wait, `kafka ${kind}`, arrive, broker.process)
        if (sent !== undefined) sent.until = world.time
        if (!broker.isAway && !isCut) return carryOut(answer)
        if (writes && random.chance(CARRIED_OUT)) carryOut(() => {})
        if (!broker.isSilent) answer(new KafkaError('CONNECTION'))
      }
      world.schedule(this.#asksUntil - world.time, `kafka ${kind}`, arrive, broker.process)
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

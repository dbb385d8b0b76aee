import { KafkaError } from './errors.js'

/** Share of the writes without an answer that are carried out. */
const CARRIED_OUT = 0.3

/**
 * @template T
 * @typedef {(error: KafkaError | undefined, value?: T) => void} Reply
 */

/**
 * A request of a process, until it has its answer, or knows that there is none.
 * @template T
 */
export class Call {
  #isOver = false
  #hasArrived = false
  #isAnswered = false
  #isCut = false
  #timeout

  /**
   * @param {import('./link.js').Link} link
   * @param {object} request
   * @param {string} request.kind
   * @param {(reply: Reply<T>) => void} request.carryOut
   * @param {boolean} request.writes
   * @param {number} request.timeout ms
   * @param {{ resolve: (value: T) => void, reject: (error: KafkaError) => void }} promise
   */
  constructor (link, request, promise) {
    this.link = link
    this.request = request
    this.promise = promise
    this.#timeout = link.broker.world.schedule(request.timeout, `kafka ${request.kind} timeout`, () => {
      this.#settle(new KafkaError('REQUEST_TIMED_OUT'))
    }, link.process)
  }

  /** The request leaves the process. */
  leave () {
    const { link: { broker, process, asks }, request: { kind } } = this
    const { world } = broker
    broker.calls.get(process)?.add(this)
    const sent = world.trace.sent(world.time, process, broker.process, Buffer.from(kind))
    asks.send(`kafka ${kind}`, broker.process, () => {
      if (this.#isCut) return
      if (sent !== undefined) sent.until = world.time
      this.#arrive()
    })
  }

  #arrive () {
    const { broker } = this.link
    this.#hasArrived = true
    if (!broker.isAway) return this.request.carryOut((error, value) => this.#answer(error, value))
    this.#writeNevertheless()
    if (!broker.isSilent) this.#answer(new KafkaError('CONNECTION'))
  }

  /** The answer of a write may be lost, and not the write. */
  #writeNevertheless () {
    if (this.request.writes && this.link.broker.random.chance(CARRIED_OUT)) this.request.carryOut(() => {})
  }

  /** @param {KafkaError | undefined} error @param {T} [value] */
  #answer (error, value) {
    if (this.#isAnswered || this.#isCut) return
    this.#isAnswered = true
    const { link: { broker, process, answers }, request: { kind } } = this
    const { world } = broker
    const sent = world.trace.sent(world.time, broker.process, process, Buffer.from(`${kind}: ${error?.type ?? 'done'}`))
    answers.send(`kafka ${kind} answer`, process, () => {
      if (this.#isCut) return
      if (sent !== undefined) sent.until = world.time
      this.#settle(error, value)
    })
  }

  /** Its connection breaks: what is on the way is lost. @param {boolean} isNoticed by the process, soon */
  cut (isNoticed) {
    if (this.#isCut) return
    const { broker, process } = this.link
    this.#isCut = true
    if (!this.#hasArrived) this.#writeNevertheless()
    if (isNoticed) broker.world.schedule(broker.latency(process), `kafka ${this.request.kind} cut`, () => {
      this.#settle(new KafkaError('CONNECTION'))
    }, process)
  }

  /** @param {KafkaError | undefined} error @param {T} [value] */
  #settle (error, value) {
    if (this.#isOver) return
    this.#isOver = true
    this.#timeout.canceled = true
    const { broker, process } = this.link
    broker.calls.get(process)?.delete(this)
    if (error === undefined) this.promise.resolve(/** @type {T} */ (value))
    else this.promise.reject(error)
  }
}

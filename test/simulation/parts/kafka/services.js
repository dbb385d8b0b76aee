import { SimProducer, recordOf } from './producer.js'

/** Pauses of a service that sends again what was not acknowledged, ms. */
const PAUSE = 200
/** Time until a batch is written once more, ms. */
const TWICE_AFTER = 20

/**
 * @typedef {import('../../world/sim-process.js').SimProcess} SimProcess
 * @typedef {import('../../../../src/kafka/contract.js').OutgoingMessage} OutgoingMessage
 * @typedef {import('./producer.js').Place} Place
 *
 * @typedef {object} ServiceProducer
 * @property {SimProducer} producer
 * @property {Promise<unknown>} last batch
 *
 * @typedef {Partial<Omit<OutgoingMessage, 'value'>> & { value: Buffer | string | null }} ServiceMessage
 */

/** Producers of the application's services: each sends its batches one after the other, until they are acknowledged. */
export class Services {
  /** By process and topic. @type {WeakMap<SimProcess, Map<string, ServiceProducer>>} */
  #producers = new WeakMap()
  /** Batches that will be written twice. */
  twice = 0

  /** @param {import('../broker.js').Broker} broker */
  constructor (broker) { this.broker = broker }

  /**
   * @param {SimProcess} process
   * @param {string} topic
   * @param {ServiceMessage[]} messages
   * @returns {Promise<Place[]>} in a turn of the process; rejects when the topic refuses
   */
  produce (process, topic, messages) {
    const producers = this.#producers.get(process) ?? new Map()
    this.#producers.set(process, producers)
    /** @type {ServiceProducer} */
    const service = producers.get(topic) ??
      { producer: new SimProducer(this.broker.link(process), topic), last: Promise.resolve() }
    producers.set(topic, service)
    const outgoing = messages.map(({ key = null, value, headers = {}, ...more }) =>
      ({ key, value: typeof value === 'string' ? Buffer.from(value) : value, headers, ...more }))
    const sent = service.last.then(() => this.#sendUntilWritten(service, outgoing))
    service.last = sent.catch(() => {})
    return sent
  }

  /** @param {ServiceProducer} service @param {OutgoingMessage[]} messages */
  async #sendUntilWritten (service, messages) {
    for (;;) {
      const { producer } = service
      const failure = await producer.send(messages)
      if (failure === undefined) {
        this.#writeAgain(producer, messages)
        return producer.places
      }
      if (failure.rejected) throw failure.error
      if (failure.outOfSequence) service.producer = new SimProducer(producer.link, producer.topic)
      await producer.link.sleep(PAUSE)
    }
  }

  /** @param {SimProducer} producer @param {OutgoingMessage[]} messages */
  #writeAgain ({ topic, link, places }, messages) {
    if (this.twice === 0) return
    this.twice--
    const { broker } = this
    broker.count('duplicate')
    const timestamp = link.process.clock.now()
    /** @type {Map<number, import('./partition.js').NewRecord[]>} */
    const batches = new Map()
    messages.forEach((message, i) => {
      const { partition } = places[i]
      batches.set(partition, [...batches.get(partition) ?? [], recordOf(message, timestamp)])
    })
    broker.world.schedule(broker.random.duration(TWICE_AFTER), 'kafka duplicate', () => {
      for (const [partition, batch] of batches) {
        try {
          broker.append(topic, partition, { batch })
        } catch {} // no leader at the moment
      }
    }, null)
  }
}

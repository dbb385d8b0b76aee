import { Service } from './service.js'

/** Topic of records to pages. */
export const DOWNLINK = 'documents.downlink'

/** A service that publishes to documents by its own producer, and for all else over HTTP and gRPC. */
export class KafkaService extends Service {
  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {import('./broker.js').Broker} broker
   * @param {import('../world/random.js').SeededRandom} [ways] see Service
   */
  constructor (process, broker, ways) {
    super(process, ways)
    this.broker = broker
  }

  /** @override @param {string} guid @returns {Promise<void>} the next record of the document is written */
  async publish (guid) {
    const number = this.write(guid)
    await this.#produce(guid, { writer: this.process.name, number }, {
      'x-event': 'record', 'idempotency-key': `${guid}-${number}`
    })
    this.published(guid, number)
  }

  /** @override @param {string} guid */
  async wave (guid) { await this.#produce(guid, {}, { 'x-event': 'wave', 'x-ephemeral': 'true' }) }

  /** @param {string} guid @param {object} value @param {Record<string, string>} headers */
  #produce (guid, value, headers) {
    return this.broker.produce(this.process, DOWNLINK, [{
      key: guid, value: JSON.stringify(value), headers: { 'x-operator': 'broadcast', 'x-guid': guid, ...headers }
    }])
  }
}

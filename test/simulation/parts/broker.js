/** A simulated Kafka. */
export class Broker {
  /** @param {import('../world/world.js').World} world */
  constructor (world) { this.world = world }

  /**
   * @param {import('../world/sim-process.js').SimProcess} _process
   * @returns {import('../../../src/kafka/contract.js').KafkaDriver}
   */
  driver (_process) { throw new Error('not yet') }
}

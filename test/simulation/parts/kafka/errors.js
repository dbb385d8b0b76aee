/** Errors of a broker that pass by themselves. */
const RETRIABLE = new Set([
  'CONNECTION', 'REQUEST_TIMED_OUT', 'UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE'
])
/** With these a member joins its group again. */
const REBALANCING = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION'])

/** An error as a driver gets it from a broker, or from its connection to one. */
export class KafkaError extends Error {
  name = 'KafkaError'

  /** @param {string} type in the words of Kafka's protocol */
  constructor (type) {
    super(`Kafka: ${type}`)
    this.type = type
    this.retriable = RETRIABLE.has(type)
    this.isRebalancing = REBALANCING.has(type)
  }
}

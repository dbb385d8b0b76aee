/**
 * Counts the requests of a Kafka client's consumers, producers and admins, which report each one.
 *
 * @param {object} kafka a client of kafkajs
 * @param {Pick<import('./metrics.js').Metrics, 'kafka_requests' | 'kafka_request_seconds' | 'kafka_request_timeouts'>}
 *   metrics
 */
export function observeRequests (kafka, metrics) {
  const client = /** @type {Record<string, (options?: object) => any>} */ (/** @type {unknown} */ (kafka))
  for (const kind of ['consumer', 'producer', 'admin']) {
    const create = client[kind].bind(client)
    client[kind] = (options) => {
      const member = create(options)
      member.on(member.events.REQUEST, (/** @type {any} */ { payload: { apiName, duration } }) => {
        metrics.kafka_requests.count(apiName)
        metrics.kafka_request_seconds.labels(apiName).observe(duration / 1000)
      })
      member.on(member.events.REQUEST_TIMEOUT, (/** @type {any} */ { payload: { apiName } }) => {
        metrics.kafka_request_timeouts.count(apiName)
      })
      return member
    }
  }
}

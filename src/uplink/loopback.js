/**
 * The uplink where there is no Kafka and so no business service: what a client sends is published to the document as it
 * is, as the simplest service would do it. For trying out and for products that need no service in between. Whoever
 * would be told of a receipt is not there either: they are logged. There are no life-cycle events: the session store
 * knows that nobody is told.
 *
 * @param {object} dependencies
 * @param {Pick<import('../publish/publisher.js').Publisher, 'publish'>} dependencies.publisher
 * @param {import('../common/log.js').Log} dependencies.log
 * @returns {import('./contract.js').Uplink}
 */
export function createLoopbackUplink ({ publisher, log }) {
  return {
    async start () {},
    async stop () {},
    async send ({ operator, guid, event = 'message', sid, traceId, timestamp, contentType, value, asSent }) {
      if (operator === 'receipt')
        return log.debug({ guid, event, traceId, receipt: JSON.parse(value.toString()) }, 'receipt')
      await publisher.publish(
        { operator: 'broadcast', guid, event, traceId, timestamp, from: sid, contentType, value: asSent ?? value },
        { source: 'client' }
      )
    }
  }
}

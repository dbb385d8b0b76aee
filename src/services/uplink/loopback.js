/**
 * The uplink without Kafka, and so without a business service: messages of clients are published to their document
 * unchanged, as the simplest service would do it. For trials and for products that need no service in between. Receipts
 * have no receiver and are logged. The session store requests no life-cycle events in this mode.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../log/publish/publisher.js').Publisher, 'publish'>} dependencies.publisher
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @returns {import('../../log/publish/uplink.js').Uplink}
 */
export function createLoopbackUplink ({ publisher, log }) {
  return {
    async start () {},
    async stop () {},
    async send (record) {
      const { operator, guid, event = 'message', sid, traceId, traceparent, timestamp, contentType, value } = record
      const { asSent, except, queue } = record
      if (operator === 'receipt')
        return log.debug({ guid, event, traceId, receipt: JSON.parse(value.toString()) }, 'receipt')
      const { duplicate } = await publisher.publish(
        {
          operator: 'broadcast',
          guid,
          event,
          traceId,
          ...(traceparent !== undefined && { traceparent }),
          timestamp,
          from: sid,
          contentType,
          value: asSent ?? value,
          ...(except !== undefined && { except })
        },
        { source: 'client', queue }
      )
      return { duplicate }
    }
  }
}

import { checkPublication } from '../wire/publication.js'

/**
 * The uplink where there is no Kafka and so no business service: what a client sends is published to the document as it
 * is, as the simplest service would do it. For trying out and for products that need no service in between. Whoever
 * would be told of a receipt is not there either: they are logged. There are no life-cycle events: the session store
 * knows that nobody is told.
 *
 * @param {object} dependencies
 * @param {() => Pick<import('../bus/contract.js').Bus, 'publish'>} dependencies.bus
 * @param {{ maxRecordBytes: number }} dependencies.limits
 * @param {import('../common/log.js').Log} dependencies.log
 * @returns {import('./contract.js').Uplink}
 */
export function createLoopbackUplink ({ bus, limits, log }) {
  return {
    async start () {},
    async stop () {},
    async send ({ operator, guid, event = 'message', sid, traceId, timestamp, contentType, value, asSent }) {
      if (operator === 'receipt')
        return log.debug({ guid, event, traceId, receipt: JSON.parse(value.toString()) }, 'receipt')
      const publication = checkPublication(
        {
          operator: 'broadcast',
          guid,
          event,
          except: [],
          ephemeral: false,
          receipt: false,
          traceId,
          timestamp,
          source: 'client',
          from: sid,
          contentType,
          value: asSent ?? value
        },
        { maxBytes: limits.maxRecordBytes }
      )
      await bus().publish([{ publication }])
    }
  }
}

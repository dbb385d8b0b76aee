import { checkPublication } from '../wire/publication.js'

/**
 * The uplink where there is no Kafka and so no business service: what a client sends is published to the document
 * as it is, as the simplest service would do it. For trying out and for products that need no service in between.
 *
 * @param {object} dependencies
 * @param {() => Pick<import('../bus/contract.js').Bus, 'publish'>} dependencies.bus
 * @param {{ maxRecordBytes: number }} dependencies.limits
 * @returns {import('../uplink.js').Uplink}
 */
export function createLoopbackUplink ({ bus, limits }) {
  return {
    async start () {},
    async stop () {},
    async send ({ operator, guid, event = 'message', sid, traceId, timestamp, contentType, value }) {
      if (operator !== 'message') return
      const publication = checkPublication({
        operator: 'broadcast', guid, event, except: [], ephemeral: false, receipt: false, traceId, timestamp, source: 'client', from: sid, contentType, value
      }, { maxBytes: limits.maxRecordBytes })
      await bus().publish([{ publication }])
    }
  }
}

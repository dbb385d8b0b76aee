/**
 * Gives the messages of the demo page to its documents; all other records are passed on.
 *
 * @param {Pick<import('../index.js').Inkcast, 'isDocumentEvent'>} inkcast
 * @param {object} dependencies
 * @param {import('../../../src/log/publish/uplink.js').Uplink} dependencies.uplink for all other records
 * @param {import('./documents.js').Documents} dependencies.documents
 * @param {Pick<import('../../../src/log/bus/contract.js').Bus, 'queuedUpTo' | 'noteQueued'>} dependencies.bus
 * @returns {import('../../../src/log/publish/uplink.js').Uplink}
 */
export function createDocumentsUplink ({ isDocumentEvent }, { uplink, documents, bus }) {
  return {
    start: () => uplink.start(),
    stop: () => uplink.stop(),
    async send (record) {
      const { operator, guid, event, uid = '', sid = '', traceId, timestamp, contentType, value, queue } = record
      if (operator !== 'message' || guid === undefined || event === undefined || !isDocumentEvent(event))
        return uplink.send(record)
      if (queue !== undefined && await bus.queuedUpTo(guid, queue) >= queue.number) return { duplicate: true }
      await documents.receive([{
        guid, event, uid, sid, traceId, timestamp, contentType, value,
        // an edit whose answer came too late is sent again
        ...(queue && { queued: { source: `queue ${queue.uid ?? ''} ${queue.id}`, sequence: queue.number } })
      }])
      if (queue !== undefined) await bus.noteQueued(guid, queue)
      return { duplicate: false }
    }
  }
}

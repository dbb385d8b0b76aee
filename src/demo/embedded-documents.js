import { createDocument, isDocumentEvent } from '../../examples/document-service/document.js'
import { createService } from '../../examples/document-service/service.js'
import { createMemoryStore } from '../../examples/document-service/stores.js'
import { newTraceId } from '../wire/headers.js'
import { decodeMsgpack } from '../wire/msgpack.js'

/**
 * The data that the demo page loads: a document, and the end of its log before it was read.
 * @typedef {object} LoadedDocument
 * @property {object} document
 * @property {import('../wire/position.js').Position | null} position
 * @property {boolean} [kept] false: no service stores the document, pages exchange their changes directly
 */
/** @typedef {(guid: string) => Promise<LoadedDocument>} LoadDocument */

/** @type {(bytes: Uint8Array) => unknown} */
const decodeJson = (bytes) => JSON.parse(Buffer.from(bytes).toString())

/**
 * The document service of examples/document-service within this process, for the demo in embedded mode: it receives its
 * own events from the uplink; all other records are passed on.
 *
 * @param {object} dependencies
 * @param {import('../uplink/contract.js').Uplink} dependencies.uplink for all other records
 * @param {Pick<import('../publish/publisher.js').Publisher, 'publish'>} dependencies.publisher
 * @param {Pick<import('../bus/contract.js').Bus, 'positions' | 'queuedUpTo' | 'noteQueued'>} dependencies.bus
 * @returns {{ uplink: import('../uplink/contract.js').Uplink, load: LoadDocument }}
 */
export function createEmbeddedDocuments ({ uplink, publisher, bus }) {
  const service = createService({
    store: createMemoryStore(),
    newKey: newTraceId,
    async publish ({ to, event, value, traceId, timestamp }) {
      /** @type {import('../wire/publication.js').ContentType} */
      const contentType = 'application/json'
      const record = { event, traceId, timestamp, contentType, value: Buffer.from(JSON.stringify(value)) }
      await publisher.publish(
        'guid' in to
          ? { operator: 'broadcast', guid: to.guid, ...record }
          : { operator: 'socket', sid: to.sid, ...record },
        { source: 'documents' }
      )
    }
  })
  return {
    uplink: {
      start: () => uplink.start(),
      stop: () => uplink.stop(),
      async send (record) {
        const { operator, guid, event, uid = '', sid = '', traceId, timestamp, contentType, value, queue } = record
        if (operator !== 'message' || guid === undefined || event === undefined || !isDocumentEvent(event))
          return uplink.send(record)
        if (queue !== undefined && await bus.queuedUpTo(guid, queue) >= queue.number) return { duplicate: true }
        await service.receive([
          {
            guid, event, uid, sid, traceId, timestamp, value,
            decode: contentType === 'application/json' ? decodeJson : (bytes) => decodeMsgpack(Buffer.from(bytes))
          }
        ])
        if (queue !== undefined) await bus.noteQueued(guid, queue)
        return { duplicate: false }
      }
    },
    async load (guid) {
      const position = (await bus.positions([guid]))[0] ?? null
      return { document: await service.read(guid), position }
    }
  }
}

/**
 * Used without a document service: each page begins with the initial document.
 * @type {LoadDocument}
 */
export const loadUnkept = async () => ({ document: createDocument(), position: null, kept: false })

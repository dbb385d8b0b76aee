/**
 * The document service of examples/document-service for the demo page, where no service is set up. It keeps documents
 * in memory, in the launcher or in the only process, and publishes over the api, as any service does.
 *
 * The data that the page loads: a document, and the end of its log before it was read.
 * @typedef {object} LoadedDocument
 * @property {object} document
 * @property {import('../../../src/wire/position.js').Position | null} position
 * @property {boolean} [kept] false: no service stores the document, pages exchange their changes directly
 *
 * @typedef {(guid: string) => Promise<LoadedDocument>} LoadDocument
 *
 * @typedef {Pick<import('../../../src/log/publish/uplink.js').UplinkRecord,
 *   'traceId' | 'timestamp' | 'contentType' | 'value'>
 *   & Pick<import('../../../examples/document-service/service.js').UplinkMessage, 'queued'>
 *   & { guid: string, event: string, uid: string, sid: string }} PageMessage
 *
 * @typedef {object} Documents
 * @property {(messages: PageMessage[]) => Promise<void>} receive of one document, in order; resolves when their changes
 *   are published
 * @property {LoadDocument} load
 */

/** @type {(bytes: Uint8Array) => unknown} */
const decodeJson = (bytes) => JSON.parse(Buffer.from(bytes).toString())

/**
 * @param {Pick<import('../index.js').Inkcast,
 *   'createInkcast' | 'createMemoryStore' | 'createService' | 'decodeMsgpack' | 'newTraceId'>} inkcast
 * @param {object} dependencies
 * @param {() => string} dependencies.apiUrl
 * @param {string} [dependencies.token] of the api
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @param {import('../../../src/wire/headers.js').TraceIdSource} dependencies.random
 * @returns {Documents & { stop: () => void }}
 */
export function createDocuments (inkcast, { apiUrl, token, log, random }) {
  const { createInkcast, createMemoryStore, createService, decodeMsgpack, newTraceId } = inkcast
  const stopping = new AbortController()
  /** @type {ReturnType<typeof createInkcast> | undefined} */
  let api
  // the port is known when the api listens
  const opened = () => api ??= createInkcast({
    url: apiUrl(),
    token,
    signal: stopping.signal,
    log: { info: (message) => log.info(message), error: (message) => log.warn(`demo: ${message}`) }
  })
  const service = createService({
    store: createMemoryStore(), newKey: () => newTraceId(random), publish: (outgoing) => opened().publish(outgoing)
  })
  return {
    receive: (messages) => service.receive(messages.map(({ contentType, ...message }) => ({
      ...message,
      decode: contentType === 'application/json' ? decodeJson : (bytes) => decodeMsgpack(Buffer.from(bytes))
    }))),

    async load (guid) {
      const position = await opened().position(guid)
      return { document: await service.read(guid), position }
    },

    stop: () => stopping.abort()
  }
}

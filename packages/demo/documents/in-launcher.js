/**
 * The demo's documents in the launcher, for the gateway workers: `receive` and `load` over the socket of the demo's
 * control. A worker sends one request per document at a time, so that changes keep their order.
 */

/** Path on the launcher's private listener. */
export const DOCUMENTS_PATH = '/documents'
/** Timeout of an answer, ms: a message waits for one request before its own, and the uplink answers within 10 s. */
const TIMEOUT = 5000
/** Messages of one document that wait for the request before theirs; more are refused. */
const MAX_WAITING = 1000
const MAX_BYTES = 64 * 1024 * 1024

/**
 * @param {import('../index.js').Inkcast} inkcast
 * @param {string} runDirectory of the launcher
 * @returns {import('./documents.js').Documents} rejects with `unavailable` when the launcher does not answer
 */
export function documentsInLauncher (inkcast, runDirectory) {
  const { InkcastError, askPrivately, demoSocket, encodeMsgpack } = inkcast

  /** @param {'receive' | 'load'} method @param {unknown} argument @returns {Promise<any>} */
  async function ask (method, argument) {
    try {
      return await askPrivately(demoSocket(runDirectory), DOCUMENTS_PATH, {
        method: 'POST', body: encodeMsgpack({ method, argument }), timeout: TIMEOUT
      })
    } catch (error) {
      throw new InkcastError('unavailable', 'the documents of the demo do not answer', { cause: error })
    }
  }
  /** By document. @type {Map<string, { messages: import('./documents.js').PageMessage[], sent: Promise<void> }>} */
  const waiting = new Map()
  /** The request in progress, by document. @type {Map<string, Promise<void>>} */
  const working = new Map()

  /** @param {string} guid */
  async function sendNext (guid) {
    await working.get(guid)?.catch(() => {})
    const { messages = [] } = waiting.get(guid) ?? {}
    waiting.delete(guid)
    const sent = ask('receive', messages)
    working.set(guid, sent)
    const done = () => { if (working.get(guid) === sent) working.delete(guid) }
    sent.then(done, done)
    await sent
  }

  return {
    async receive (messages) {
      const [{ guid }] = messages
      const next = waiting.get(guid)
      if (next === undefined) {
        const sent = Promise.resolve().then(() => sendNext(guid))
        waiting.set(guid, { messages: [...messages], sent })
        return sent
      }
      if (next.messages.length >= MAX_WAITING) throw new InkcastError('unavailable', 'too many messages wait')
      next.messages.push(...messages)
      return next.sent
    },

    load: (guid) => ask('load', guid)
  }
}

/**
 * The route of the launcher's private listener.
 * @param {import('../index.js').Inkcast} inkcast
 * @param {import('./documents.js').Documents} documents
 * @param {import('../../../src/base/common/log.js').Log} log
 * @returns {import('node:http').RequestListener}
 */
export function createDocumentsRoute (inkcast, documents, log) {
  const { InkcastError, answerError, answerJson, decodeMsgpack } = inkcast

  /** @param {import('node:http').IncomingMessage} req */
  async function answer (req) {
    const { method, argument } = /** @type {any} */ (decodeMsgpack(await readBytes(req, () => new InkcastError('value_too_large'))))
    if (method === 'load') return documents.load(argument)
    await documents.receive(argument)
    return {}
  }
  return (req, res) => {
    answer(req).then((value) => answerJson(res, 200, value), (error) => answerError(res, error, log))
  }
}

/** @param {import('node:http').IncomingMessage} req @param {() => Error} tooLarge @returns {Promise<Buffer>} */
async function readBytes (req, tooLarge) {
  /** @type {Buffer[]} */
  const chunks = []
  let bytes = 0
  for await (const chunk of req) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

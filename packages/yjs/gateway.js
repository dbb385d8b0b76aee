/**
 * The default service: inkcast-yjs-server, through the gateway.
 *
 * - `yjs:load` `{ guid, version?, from? }`, an event of the gateway's extension, answers a part of the document.
 * - records `yjs:part` are parts of an update that is too large for one record.
 * - `yjs:refused` and `yjs:load`, to this connection: an update was refused; the document is to be loaded again.
 */

/** Timeout of an answer, ms. */
const TIMEOUT = 15_000
/** Bytes of a part. */
const PART = 196_608
/** A snapshot that is gone before it is read is requested again this often. */
const TRIES = 5

const NO_DOCUMENTS = 'the gateway serves no Yjs documents: start inkcast-yjs-server, or set the option `load`'

/** @typedef {import('./service.js').Snapshot} Snapshot */

/** A part of the document was refused, or did not arrive. */
class GatewayError extends Error {
  /**
   * @param {{ code: string, message: string, retryable?: boolean, retryInMs?: number }} error
   * @param {ErrorOptions} [options]
   */
  constructor ({ code, message, retryable = false, retryInMs }, options) {
    super(message, options)
    this.name = 'GatewayError'
    this.code = code
    this.retryable = retryable
    this.retryInMs = retryInMs
  }
}

/**
 * @param {import('inkcast-client').Client} client
 * @param {(part: object) => Promise<unknown>} sendPart
 */
export function createGatewayService (client, sendPart) {
  /** @param {object} request @param {AbortSignal} signal */
  async function ask (request, signal) {
    signal.throwIfAborted()
    const answer = await client.socket.timeout(TIMEOUT).emitWithAck('yjs:load', request).catch((cause) => {
      throw new GatewayError({ code: 'timeout', message: 'the document was not loaded in time', retryable: true }, { cause })
    })
    signal.throwIfAborted()
    if (answer?.ok === true) return answer
    if (answer?.error?.code === 'unknown_event') throw new GatewayError({ code: 'load_failed', message: NO_DOCUMENTS })
    throw new GatewayError({ code: 'unavailable', message: 'the document cannot be loaded', ...answer?.error })
  }

  return {
    /** @param {{ guid: string, signal: AbortSignal }} request @returns {Promise<Snapshot>} */
    async load ({ guid, signal }) {
      for (let failures = 0; ; failures++) {
        try {
          const { version, size, position, bytes } = await ask({ guid }, signal)
          const update = new Uint8Array(size)
          update.set(new Uint8Array(bytes))
          for (let from = bytes.byteLength; from < size;) {
            const part = await ask({ guid, version, from }, signal)
            update.set(new Uint8Array(part.bytes), from)
            from += part.bytes.byteLength
          }
          return { update: size === 0 ? null : update, position }
        } catch (error) {
          if (/** @type {any} */ (error)?.code !== 'gone' || failures === TRIES) throw error
        }
      }
    },

    /** @param {Uint8Array} update @param {{ signal: AbortSignal }} options */
    async store (update, { signal }) {
      const id = [...crypto.getRandomValues(new Uint32Array(4))].join('-')
      const total = Math.ceil(update.length / PART)
      for (let index = 0; index < total;) {
        signal.throwIfAborted()
        try {
          await sendPart({ id, index, total, bytes: update.slice(index * PART, (index + 1) * PART) })
          index++
        } catch (error) {
          // the parts together are above the rate of a connection
          const { code, retryInMs = 1000 } = /** @type {any} */ (error)
          if (code !== 'rate_limited') throw error
          await new Promise((resolve) => setTimeout(resolve, retryInMs))
        }
      }
    }
  }
}

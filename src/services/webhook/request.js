import { withTimeLimit } from '../../base/common/wait.js'
import { BATCH_TYPE } from './cloud-events.js'

/** Time for the service to answer to events, ms. */
const TIMEOUT = 15_000
/** Largest answer to events, bytes. */
const MAX_ANSWER = 8 * 2 ** 20
/** Longest hint in a log line, characters. */
const MAX_HINT = 300
/** A longer `retry-after` is shortened, ms. */
const MAX_RETRY_AFTER = 60_000

/**
 * @typedef {object} Answer
 * @property {string} text '' if the service has nothing to say
 * @property {number} [status]
 * @property {boolean} [tooLarge] it was not read to its end
 *
 * @typedef {object} Bounds
 * @property {string} [type] content type of the body; default: a batch of events
 * @property {number} [timeout] for the service to answer, ms
 * @property {number} [maxAnswer] bytes
 * @property {(status: number) => boolean} [isAnswer] statuses whose body is read; others are errors. Default: 2xx
 */

/** @param {number} status */
const isSuccess = (status) => status >= 200 && status < 300

/** The service did not accept a batch, or did not answer a question. */
export class WebhookError extends Error {
  /**
   * @param {string} message for the log
   * @param {{ status?: number, retryAfter?: number, cause?: unknown }} [details] retryAfter: ms
   */
  constructor (message, { status, retryAfter, cause } = {}) {
    super(message, { cause })
    this.name = 'WebhookError'
    this.status = status
    this.retryAfter = retryAfter
    /** The service will not accept these events, however often they are sent. */
    this.final = status === 400 || status === 413 || status === 415 || status === 422
  }
}

/**
 * Signed requests to a service of the application: the webhook, and the login (services/connect).
 *
 * @param {object} dependencies
 * @param {string} dependencies.url
 * @param {ReturnType<typeof import('./signature.js').createSigner>} dependencies.sign
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'monotonic' | 'timer'>} dependencies.clock
 * @param {typeof fetch} [dependencies.request] for tests
 * @param {Bounds} [bounds]
 * @returns {(id: string, body: Buffer, signal: AbortSignal) => Promise<Answer>} rejects with a WebhookError, or the
 *   reason of the signal
 */
export function createRequest (
  { url, sign, clock, request = fetch },
  { type = BATCH_TYPE, timeout = TIMEOUT, maxAnswer = MAX_ANSWER, isAnswer = isSuccess } = {}
) {
  /** @param {string} id @param {Buffer} body @param {AbortSignal} signal @returns {Promise<Answer>} */
  async function post (id, body, signal) {
    const response = await request(url, {
      method: 'POST',
      headers: {
        'content-type': type,
        'user-agent': 'inkcast',
        ...sign(id, Math.floor(clock.now() / 1000), body)
      },
      body: /** @type {any} */ (body),
      // the signed events go to the address that was configured, and nowhere else
      redirect: 'manual',
      signal
    })
    const { status, headers } = response
    if (isAnswer(status)) return answerOf(response, maxAnswer)
    await response.body?.cancel()
    throw new WebhookError(
      `HTTP ${status}${hintOf(status, headers.get('location'), url)}`, { status, retryAfter: retryAfterOf(headers.get('retry-after')) }
    )
  }

  return async (id, body, signal) => {
    try {
      return await withTimeLimit(timeout, signal, (limited) => post(id, body, limited), clock)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof WebhookError) throw error
      throw new WebhookError(causeOf(error, timeout), { cause: error })
    }
  }
}

/** @param {Response} response @param {number} max bytes @returns {Promise<Answer>} */
async function answerOf ({ status, body }, max) {
  /** @type {Uint8Array[]} */
  const chunks = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > max) return { status, text: '', tooLarge: true }
    chunks.push(chunk)
  }
  return { status, text: Buffer.concat(chunks).toString() }
}

/** @param {number} status @param {string | null} location @param {string} url @returns {string} what to do about it */
function hintOf (status, location, url) {
  if (status === 401) return ': check UPLINK_SECRETS'
  if (status < 300 || status > 399) return ''
  const known = location !== null && URL.canParse(location, url)
  if (!known) return ': redirects are not followed'
  // a query may have a credential
  const { origin, pathname } = new URL(location, url)
  return `: redirects are not followed (location: ${origin}${pathname})`.slice(0, MAX_HINT)
}

/** @param {string | null} text @returns {number | undefined} ms */
function retryAfterOf (text) {
  const seconds = Number(text ?? NaN)
  return seconds >= 0 ? Math.min(MAX_RETRY_AFTER, seconds * 1000) : undefined
}

/** @param {any} error of fetch @param {number} timeout ms @returns {string} */
function causeOf (error, timeout) {
  if (error?.name === 'TimeoutError') return `no answer within ${timeout / 1000} s`
  return error?.cause?.code ?? error?.cause?.message ?? error?.message ?? String(error)
}

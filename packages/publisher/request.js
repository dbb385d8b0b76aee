import { errorOf, InkcastError } from './errors.js'

/** First pause between two tries, and the longest one, ms. */
const FIRST_PAUSE = 200
const LONGEST_PAUSE = 10_000
/** Errors of a connection that was never there: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/**
 * @typedef {object} Time
 * @property {() => number} now ms since 1970
 * @property {() => number} monotonic ms since some moment
 * @property {(ms: number, signal?: AbortSignal) => Promise<void>} wait rejects when it is aborted
 * @property {() => number} random 0 to 1
 *
 * @typedef {object} Sent
 * @property {string} method
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {string | Uint8Array | undefined} [body]
 *
 * @typedef {object} Limits
 * @property {number} deadlineMs for all tries together, with their pauses; 0: one try
 * @property {number} timeoutMs for one try
 * @property {AbortSignal | undefined} [signal]
 */

/** @type {Time} */
export const systemTime = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  wait: (ms, signal) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    function abort () {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
  }),
  random: () => Math.random()
}

/**
 * Tries until it succeeds, the error is final, or the next try would begin after the deadline. Pauses double, with
 * jitter; they are at least as long as the api asks for.
 *
 * @template T
 * @param {(timeoutMs: number) => Promise<T>} attempt gets the time that is left for it
 * @param {Limits} limits
 * @param {Time} time
 * @returns {Promise<T>}
 */
export async function withRetries (attempt, { deadlineMs, timeoutMs, signal }, { monotonic, wait, random }) {
  const end = monotonic() + deadlineMs
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    signal?.throwIfAborted()
    try {
      return await attempt(deadlineMs === 0 ? timeoutMs : Math.min(timeoutMs, Math.max(1, end - monotonic())))
    } catch (error) {
      if (!(error instanceof InkcastError) || !error.retryable) throw error
      const ms = (error.retryInMs ?? 0) + pause * (0.5 + random() / 2)
      if (monotonic() + ms >= end) throw error
      await wait(ms, signal)
    }
  }
}

/**
 * One try.
 *
 * @param {typeof fetch} send
 * @param {Sent} sent
 * @param {Time} time
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the body of the answer
 * @throws {InkcastError} for an answer other than 2xx, and without an answer
 */
export async function tryOnce (send, { url, ...init }, { now }, timeoutMs, signal) {
  const ending = new AbortController()
  const abort = () => ending.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(() => ending.abort(new Error(`no answer in ${Math.round(timeoutMs)} ms`)), timeoutMs)
  try {
    // the token is for this address
    const answer = await send(url, /** @type {any} */ ({ ...init, redirect: 'manual', signal: ending.signal }))
    const body = parse(await answer.text())
    if (answer.ok && body?.ok === true) return body
    throw errorOf(answer.status, answer.headers.get('retry-after'), body, now())
  } catch (error) {
    if (error instanceof InkcastError) throw error
    if (signal?.aborted) throw signal.reason
    const cause = /** @type {any} */ (error)
    // fetch refuses the url or a header
    if (cause.name === 'TypeError' && cause.cause === undefined) throw new InkcastError('bad_header', cause.message, { cause })
    const code = NOT_SENT.includes(cause.cause?.code) ? 'unavailable' : 'timeout'
    throw new InkcastError(code, String(cause.cause?.message ?? cause.message), { retryable: true, cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** @param {string} text */
function parse (text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

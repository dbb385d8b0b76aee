import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { waitFor } from './wait.js'

/** fetch can wait forever when its connection closes before use, ms. */
const TIMEOUT = 30_000

/**
 * @param {string} url
 * @param {unknown} body a buffer is msgpack
 * @param {Record<string, string>} [headers]
 */
export async function postTo (url, body, headers = {}) {
  const raw = Buffer.isBuffer(body)
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': raw ? 'application/msgpack' : 'application/json', ...headers },
    body: raw ? new Uint8Array(body) : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT)
  })
  return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
}

/**
 * Publishes a record once, with as many requests as it takes: on a busy machine, Redis or a process may pause for
 * longer than a request waits. A refused connection or record fails.
 *
 * @param {{ post: typeof postTo }} server its paths
 * @param {string} guid
 * @param {unknown} value
 * @param {Record<string, string>} [more] headers; with an `idempotency-key`, several calls publish one record
 */
export async function publishOnce ({ post }, guid, value, more) {
  // a connection of its own: the api closes idle ones when it stops, and this process may be late to see it
  const headers = { 'idempotency-key': randomUUID(), connection: 'close', ...more }
  /** @type {{ status?: number, body: any }} */
  let answer = { body: null }
  await waitFor(async () => {
    answer = await post(`/v1/documents/${guid}/broadcast`, value, headers)
      .catch((error) => ({ body: `${error.message}: ${error.cause?.message}` }))
    return answer.body?.error?.retryable !== true
  }, { timeout: 20_000, message: () => answer })
  assert.equal(answer.status, 202, JSON.stringify(answer.body))
}

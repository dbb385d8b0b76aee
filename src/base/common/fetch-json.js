import { withTimeLimit } from './wait.js'

/**
 * An HTTP request to a service that inkcast depends on, with limits: time, size, no redirects.
 *
 * @param {string} url
 * @param {object} options
 * @param {unknown} [options.post] sent as JSON; without it, GET
 * @param {URLSearchParams} [options.form] sent with POST, in place of `post`
 * @param {string} [options.authorization] header
 * @param {number} options.timeout for the whole request, ms
 * @param {number} options.maxBytes maximum size of the answer
 * @param {AbortSignal} [options.signal]
 * @param {import('./wait.js').LimitClock} options.clock
 * @returns {Promise<unknown>}
 * @throws {Error} if the answer is not a 200 with JSON in time
 */
export const fetchJson = (url, { timeout, signal, clock, ...request }) =>
  withTimeLimit(timeout, signal, (limited) => answerOf(url, request, limited), clock)

/**
 * @param {string} url
 * @param {{ post?: unknown, form?: URLSearchParams, authorization?: string, maxBytes: number }} request
 * @param {AbortSignal} signal
 */
async function answerOf (url, { post, form, authorization, maxBytes }, signal) {
  const response = await fetch(url, {
    redirect: 'error',
    signal,
    headers: {
      accept: 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
      ...(post === undefined ? {} : { 'content-type': 'application/json' })
    },
    ...(post === undefined ? {} : { method: 'POST', body: JSON.stringify(post) }),
    ...(form === undefined ? {} : { method: 'POST', body: form })
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`HTTP status ${response.status}`)
  }
  const chunks = []
  let length = 0
  // Leaving the loop by an exception cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

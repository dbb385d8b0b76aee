import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { systemClock } from '../../../base/common/clock.js'
import { withTimeLimit } from '../../../base/common/wait.js'
import { CommandError } from './terminal.js'

/** ms */
const TIMEOUT = 10_000

/**
 * @typedef {object} RequestOptions
 * @property {string} what that is asked, for errors: `the api`, `ADMIN_PORT`
 * @property {string} [method]
 * @property {string | undefined} [token]
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 */

/**
 * A request of a command, for 10 s at most, with errors as sentences.
 *
 * @param {string} url
 * @param {RequestOptions} options
 * @returns {Promise<{ status: number, text: string }>}
 * @throws {CommandError} the other side does not respond, or refuses
 */
export const request = (url, options) => withTimeLimit(TIMEOUT, undefined, async (signal) => {
  const answer = await send(url, { ...options, signal })
  return { status: answer.status, text: await answer.text() }
}, systemClock)

/**
 * @param {string} url
 * @param {RequestOptions & { signal: AbortSignal }} options signal ends it
 * @param {(line: string) => void} onLine
 * @returns {Promise<void>} resolves when the answer has ended, or the signal was given
 * @throws {CommandError} the other side does not respond, or refuses
 */
export async function streamLines (url, options, onLine) {
  try {
    const { body } = await send(url, options)
    if (body === null) return
    const stream = Readable.fromWeb(/** @type {import('node:stream/web').ReadableStream} */ (body))
    for await (const line of createInterface({ input: stream })) if (line !== '') onLine(line)
  } catch (error) {
    if (error instanceof CommandError && !options.signal.aborted) throw error
  }
}

/** @param {string} url @param {RequestOptions & { signal: AbortSignal }} options */
async function send (url, { what, method = 'GET', token, headers = {}, body, signal }) {
  let answer
  try {
    answer = await fetch(url, {
      method,
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      body,
      signal
    })
  } catch (error) {
    throw new CommandError(`${what} cannot be reached at ${url}: ${causeOf(error)}. Is inkcast running?`)
  }
  if (answer.ok) return answer
  throw new CommandError(`${what} refuses: ${reasonOf(await answer.text()) ?? `status ${answer.status}`}`)
}

/** @param {unknown} error of fetch, which hides the reason in its cause */
function causeOf (error) {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof AggregateError) return cause.errors.map(({ message }) => message).join(', ')
  return cause instanceof Error ? cause.message : error.message
}

/** @param {string} text of an answer @returns {string | undefined} */
function reasonOf (text) {
  try {
    const { code, message } = JSON.parse(text).error
    return `${message} (${code})`
  } catch {
    return text.trim().split('\n', 1)[0] || undefined
  }
}

import { randomUUID } from 'node:crypto'
import { InkcastError } from './errors.js'

/**
 * @typedef {object} Publication
 * @property {string | undefined} [operator] as in docs/kafka.md; default `broadcast`: to a document
 * @property {string | undefined} [guid]
 * @property {string | undefined} [uid]
 * @property {string | undefined} [sid]
 * @property {string | undefined} [device]
 * @property {string | undefined} [event]
 * @property {unknown} value JSON, or a Uint8Array of msgpack
 * @property {readonly string[] | undefined} [except]
 * @property {boolean | undefined} [ephemeral]
 * @property {boolean | undefined} [keep]
 * @property {boolean | undefined} [receipt]
 * @property {string | undefined} [key]
 * @property {string | undefined} [traceId]
 * @property {string | undefined} [traceparent]
 * @property {number | undefined} [timestamp]
 * @property {string | undefined} [idempotencyKey] default: a random one
 *
 * @typedef {{ ok: true, traceId: string, position?: import('./publisher.js').Position }} Success
 * @typedef {{ ok: false, error: InkcastError }} Failure
 * @typedef {Success | Failure} Result
 */

/**
 * Sends publications until each has succeeded or is refused, or the time is over: docs/api.md#after-a-failed-batch.
 *
 * @param {readonly Publication[]} publications
 * @param {(entries: object[], timeoutMs: number) => Promise<{ results: any[] }>} send one request
 * @param {(attempt: (timeoutMs: number) => Promise<void>) => Promise<void>} retry repeats it
 * @returns {Promise<Result[]>}
 * @throws {InkcastError} if no request was answered
 */
export async function sendBatch (publications, send, retry) {
  const entries = publications.map(entryOf)
  /** @type {Result[]} */
  const results = new Array(entries.length)
  let open = entries.map((_entry, i) => i)
  /** @type {unknown} */
  let repeating
  try {
    await retry(async (timeoutMs) => {
      const { results: answers } = await send(open.map((i) => entries[i]), timeoutMs)
      open.forEach((i, at) => { results[i] = resultOf(answers[at]) })
      open = toRepeat(open, entries, results)
      if (open.length > 0) throw repeating = pauseFor(open.map((i) => results[i]))
    })
  } catch (error) {
    // a part was published before: each result says what is known of its publication
    if (repeating === undefined || !(error instanceof InkcastError)) throw error
    if (error !== repeating) for (const i of open) results[i] = { ok: false, error }
  }
  return results
}

/** @param {Publication} publication */
function entryOf ({ value, idempotencyKey = randomUUID(), ...fields }) {
  const packed = value instanceof Uint8Array
  return {
    ...fields,
    idempotencyKey,
    ...(packed
      ? { valueBase64: Buffer.from(value).toString('base64'), contentType: 'application/msgpack' }
      : { value })
  }
}

/** @param {any} answer @returns {Result} */
const resultOf = ({ ok, error, ...rest }) => ok
  ? { ok, ...rest }
  : { ok: false, error: new InkcastError(error.code, error.message, error) }

/**
 * Those to send again: what failed for the moment, and publications that were refused only for one of them.
 *
 * @param {number[]} sent @param {{ guid?: string | undefined }[]} entries @param {Result[]} results
 */
function toRepeat (sent, entries, results) {
  const failed = sent.filter((i) => !results[i].ok)
  const errorAt = (/** @type {number} */ i) => /** @type {Failure} */ (results[i]).error
  const refused = new Set(failed.filter((i) => !errorAt(i).retryable && errorAt(i).code !== 'batch_refused')
    .map((i) => entries[i].guid))
  return failed.filter((i) => errorAt(i).retryable || (errorAt(i).code === 'batch_refused' && !refused.has(entries[i].guid)))
}

/** @param {Result[]} failures @returns {InkcastError} with the longest time that one of them asks for */
function pauseFor (failures) {
  const errors = failures.map((failure) => /** @type {Failure} */ (failure).error)
  const retryInMs = Math.max(0, ...errors.map((error) => error.retryInMs ?? 0))
  return new InkcastError(errors[0].code, errors[0].message, { retryable: true, retryInMs })
}

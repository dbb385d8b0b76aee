import { createHash } from 'node:crypto'
import { InkcastError } from '../../../base/common/errors.js'

/**
 * @typedef {import('../../../wire/publication.js').Publication} Publication
 *
 * @typedef {object} PublishResult
 * @property {string} traceId
 * @property {import('../../../wire/position.js').Position} [position] in the document's log, if it is kept there and
 *   known
 * @property {number} [connections] of an order: connections that it was carried out for
 * @property {number} [workers] of an order: workers with at least one of them
 *
 * @typedef {object} PublishOptions
 * @property {boolean} [triesDiffer] a retry with the same key may have another value, because it was computed again
 */

/** @param {...(string | Buffer)} parts @returns {string} 43 characters */
function hash (...parts) {
  const sha = createHash('sha256')
  for (const part of parts) sha.update(part)
  return sha.digest('base64url')
}

/**
 * Reads the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a string in quotes, as the draft has
 * it, or bare, as most send it.
 *
 * @param {string} header
 * @param {string} caller keys of different callers are different keys
 * @returns {string} the publication's idempotencyKey
 * @throws {InkcastError} bad_header
 */
export function idempotencyKeyFrom (header, caller) {
  const key = /^"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"$|^([\x21\x23-\x2b\x2d-\x7e]{1,255})$/.exec(header)
  if (key === null)
    throw new InkcastError('bad_header', 'idempotency-key must be a string of 1 to 255 ASCII characters')
  return hash(caller, '\n', key[1] ?? key[2])
}

/**
 * The parts that identify a request. Trace id and time are excluded: they may differ between tries.
 * @param {Publication} publication
 */
function fingerprintOf (publication) {
  const {
    operator, guid, uid, sid, device, event, except, ephemeral, keep, receipt, key, ttl, contentType, value
  } = publication
  /** @type {unknown[]} */
  const parts = [operator, guid, uid, sid, event, except, ephemeral, receipt, contentType]
  if (device !== undefined) parts.push(['device', device])
  if (key !== undefined) parts.push(key)
  if (ttl !== undefined) parts.push(`ttl ${ttl}`)
  if (keep) parts.push(['keep'])
  return hash(JSON.stringify(parts), '\n', value)
}

/** In place of the fingerprint of a request whose tries may differ. */
const ANY = '*'

/**
 * 4xx only: after 5xx the log may have the record, and would drop a corrected one with the same key as a duplicate.
 * An order with `unavailable` may still be carried out.
 *
 * @param {unknown} error
 * @returns {boolean} whether it says that nothing was published
 */
const isRefusal = (error) => error instanceof InkcastError && error.status < 500

/**
 * Publishes unless the same was published with the same key; then gives the answer it got.
 *
 * When the outcome of an earlier try is not known (its process died, Kafka did not answer) it is published again with
 * the same key and trace id, and the document's log drops the duplicate. Without a log it is delivered twice.
 *
 * A refused publication may be corrected: its key is forgotten, unless an earlier try may have published.
 *
 * Of tries that differ the first one that succeeds is published; after that another one is a mismatch.
 *
 * @param {import('./redis-requests.js').Requests} requests
 * @param {Publication & { idempotencyKey: string }} publication checked
 * @param {(publication: Publication) => Promise<PublishResult>} publish
 * @param {PublishOptions} [options]
 * @returns {Promise<PublishResult>} rejects with idempotency_mismatch, request_in_progress, unavailable, or what
 *   publish rejects with
 */
export async function publishOnce (requests, publication, publish, { triesDiffer = false } = {}) {
  const { idempotencyKey: id } = publication
  const own = fingerprintOf(publication)
  const fingerprint = triesDiffer ? ANY : own
  const begun = await requests.begin(id, fingerprint, publication.traceId)
  switch (begun.state) {
    case 'done': {
      const { published = own, ...answer } = JSON.parse(begun.answer)
      if (published !== own) throw new InkcastError('idempotency_mismatch')
      return answer
    }
    case 'busy': throw new InkcastError('request_in_progress')
    case 'other': throw new InkcastError('idempotency_mismatch')
  }
  let result
  try {
    result = await publish({ ...publication, traceId: begun.traceId })
  } catch (error) {
    // what is not released is once its time in work is over
    await (isRefusal(error) ? requests.forget(id) : requests.release(id)).catch(() => {})
    throw error
  }
  // it is published: a retry that finds no answer publishes it again, which the log recognizes
  const answer = triesDiffer ? { ...result, published: own } : result
  await requests.finish(id, fingerprint, JSON.stringify(answer)).catch(() => {})
  return result
}

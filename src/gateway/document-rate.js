import { InkcastError } from '../common/errors.js'

/**
 * The events that one connection may send to a document (`rate` of the document's rule), beside the limit of the
 * connection. Connections in documents without a rate have no state here.
 */

/** Burst, in seconds of the rate. */
const BURST = 2
/** Documents of one connection; the one that came first is forgotten. More than a connection may have open. */
const MAX_BUCKETS = 1000

/** @typedef {{ left: number, at: number }} Bucket at: ms, monotonic */

/** Kept over leave and join, which would refill it. @type {WeakMap<object, Map<string, Bucket>>} */
const connections = new WeakMap()

/**
 * Counts one event.
 * @param {object} connection
 * @param {string} guid
 * @param {number} rate events per second
 * @param {number} now ms, monotonic
 * @throws {InkcastError} rate_limited
 */
export function takeEvent (connection, guid, rate, now) {
  let buckets = connections.get(connection)
  if (buckets === undefined) connections.set(connection, buckets = new Map())
  const burst = Math.max(1, BURST * rate)
  let bucket = buckets.get(guid)
  if (bucket === undefined) {
    if (buckets.size >= MAX_BUCKETS) buckets.delete(/** @type {string} */ (buckets.keys().next().value))
    buckets.set(guid, bucket = { left: burst, at: now })
  }
  bucket.left = Math.min(burst, bucket.left + Math.max(0, now - bucket.at) / 1000 * rate)
  bucket.at = now
  if (bucket.left < 1) {
    throw new InkcastError('rate_limited', 'too many events for this document', {
      retryInMs: Math.ceil((1 - bucket.left) / rate * 1000)
    })
  }
  bucket.left--
}

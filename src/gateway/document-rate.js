import { TokenBucket } from '../base/common/token-bucket.js'

/**
 * The events that one connection may send to a document (`rate` of the document's rule), beside the limit of the
 * connection. Connections in documents without a rate have no state here.
 */

/** Burst, in seconds of the rate. */
const BURST = 2
/** Documents of one connection; the one that came first is forgotten. More than a connection may have open. */
const MAX_BUCKETS = 1000

/** Kept over leave and join, which would refill it. @type {WeakMap<object, Map<string, TokenBucket>>} */
const connections = new WeakMap()

/**
 * Counts one event.
 * @param {object} connection
 * @param {string} guid
 * @param {number} rate events per second
 * @param {number} now ms, monotonic
 * @throws {import('../base/common/errors.js').InkcastError} rate_limited
 */
export function takeEvent (connection, guid, rate, now) {
  let buckets = connections.get(connection)
  if (buckets === undefined) connections.set(connection, buckets = new Map())
  let bucket = buckets.get(guid)
  if (bucket?.rate.perSecond !== rate) {
    const settings = { perSecond: rate, burst: Math.max(1, BURST * rate) }
    // The rules may change while the connection is open.
    if (bucket !== undefined) bucket.rate = settings
    else {
      if (buckets.size >= MAX_BUCKETS) buckets.delete(/** @type {string} */ (buckets.keys().next().value))
      buckets.set(guid, bucket = new TokenBucket(settings, now))
    }
  }
  bucket.mustTake(now, () => 'too many events for this document')
}

import { TokenBucket } from '../../base/common/token-bucket.js'

/**
 * Rates of single events of clients (`MAX_EVENTS_PER_SECOND`), beside the limit of all events of a connection
 * (rate-limit.js). Without them connections have no state here.
 */

/** Burst, in seconds of the rate. */
const BURST = 2

/**
 * @param {Pick<import('../../config/load.js').Config['limits'], 'eventRates' | 'maxDocumentsPerConnection'>} limits
 * @returns {Map<string, import('../../base/common/token-bucket.js').Rate>} by event
 */
export function operationRatesOf ({ eventRates, maxDocumentsPerConnection }) {
  return new Map(eventRates.single.map(({ event, perSecond }) => {
    // a client that reconnects opens all of its documents at once
    const least = event === 'doc:join' ? maxDocumentsPerConnection : 1
    return [event, { perSecond, burst: Math.max(least, BURST * perSecond) }]
  }))
}

/** @param {ReadonlyMap<string, import('../../base/common/token-bucket.js').Rate>} rates */
export function createOperationRates (rates) {
  /**
   * By Engine.IO socket: a client that disconnects from Socket.IO only keeps it.
   * @type {WeakMap<object, Map<string, TokenBucket>>}
   */
  const sessions = new WeakMap()

  return {
    /**
     * Counts one event.
     * @param {object} session
     * @param {string} event
     * @param {number} now ms, monotonic
     * @throws {import('../../base/common/errors.js').InkcastError} rate_limited
     */
    take (session, event, now) {
      const rate = rates.get(event)
      if (rate === undefined) return
      let buckets = sessions.get(session)
      if (buckets === undefined) sessions.set(session, buckets = new Map())
      let bucket = buckets.get(event)
      if (bucket === undefined) buckets.set(event, bucket = new TokenBucket(rate, now))
      bucket.mustTake(now, () => `too many ${event} events`)
    }
  }
}

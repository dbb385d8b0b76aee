import { InkcastError } from '../common/errors.js'

/**
 * Rates of single events of clients (`MAX_JOINS_PER_SECOND`, `MAX_SIGNALS_PER_SECOND`, `OPERATION_RATES`), beside the
 * limit of all events of a connection (rate-limit.js). Without them connections have no state here.
 */

/** Burst, in seconds of the rate. */
const BURST = 2

/** @typedef {{ perSecond: number, burst: number }} OperationRate */
/** @typedef {{ left: number, at: number }} Bucket at: ms, monotonic */

/**
 * @param {Pick<import('../config/load.js').Config['limits'], 'maxJoinsPerSecond' | 'maxSignalsPerSecond' |
 *   'operationRates' | 'maxDocumentsPerConnection'>} limits
 * @returns {Map<string, OperationRate>} by event
 */
export function operationRatesOf ({
  maxJoinsPerSecond, maxSignalsPerSecond, operationRates, maxDocumentsPerConnection
}) {
  /** @type {Map<string, OperationRate>} */
  const rates = new Map()
  const add = (/** @type {string} */ event, /** @type {number} */ perSecond, least = 1) => {
    if (perSecond > 0) rates.set(event, { perSecond, burst: Math.max(least, BURST * perSecond) })
  }
  for (const { event, perSecond } of operationRates) add(event, perSecond)
  // a client that reconnects opens all of its documents at once
  add('doc:join', maxJoinsPerSecond, maxDocumentsPerConnection)
  add('doc:signal', maxSignalsPerSecond)
  return rates
}

/** @param {ReadonlyMap<string, OperationRate>} rates */
export function createOperationRates (rates) {
  /**
   * By Engine.IO socket: a client that disconnects from Socket.IO only keeps it.
   * @type {WeakMap<object, Map<string, Bucket>>}
   */
  const sessions = new WeakMap()

  return {
    /**
     * Counts one event.
     * @param {object} session
     * @param {string} event
     * @param {number} now ms, monotonic
     * @throws {InkcastError} rate_limited
     */
    take (session, event, now) {
      const rate = rates.get(event)
      if (rate === undefined) return
      let buckets = sessions.get(session)
      if (buckets === undefined) sessions.set(session, buckets = new Map())
      let bucket = buckets.get(event)
      if (bucket === undefined) buckets.set(event, bucket = { left: rate.burst, at: now })
      // a clock that is set back must not empty the bucket
      const seconds = Math.max(0, now - bucket.at) / 1000
      bucket.left = Math.min(rate.burst, bucket.left + seconds * rate.perSecond)
      bucket.at = now
      if (bucket.left < 1) {
        throw new InkcastError('rate_limited', `too many ${event} events`, {
          retryInMs: Math.ceil((1 - bucket.left) / rate.perSecond * 1000)
        })
      }
      bucket.left--
    }
  }
}

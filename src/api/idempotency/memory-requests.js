import { IDEMPOTENCY } from '../../bus/contract.js'

/** Requests that are known; each has some hundred bytes. Beyond it the oldest is forgotten. */
const MAX_REQUESTS = 10_000

/** Longer than a publication can take, ms. Exported for tests: a bound. */
export const LEASE = 30_000

/**
 * For one process, which forgets with it.
 *
 * @param {{ clock: import('../../common/clock.js').Clock, maxRequests?: number }} dependencies
 * @returns {import('./requests.js').Requests}
 */
export function createMemoryRequests ({ clock, maxRequests = MAX_REQUESTS }) {
  /**
   * @type {Map<string, { fingerprint: string, traceId: string, isRetry: boolean, inWorkUntil: number, knownUntil:
   *   number, answer?: string }>} the oldest first
   */
  const requests = new Map()

  return {
    async begin (id, fingerprint, traceId) {
      const now = clock.monotonic()
      const found = requests.get(id)
      const isRetry = found !== undefined && found.knownUntil > now
      if (isRetry) {
        if (found.fingerprint !== fingerprint) return { state: 'other' }
        if (found.answer !== undefined) return { state: 'done', answer: found.answer }
        if (found.inWorkUntil > now) return { state: 'busy' }
        traceId = found.traceId
      }
      requests.delete(id)
      for (const [oldest, { knownUntil }] of requests) {
        if (knownUntil > now && requests.size < maxRequests) break
        requests.delete(oldest)
      }
      requests.set(id, {
        fingerprint, traceId, isRetry, inWorkUntil: now + LEASE, knownUntil: now + IDEMPOTENCY.ttl * 1000
      })
      return { state: 'new', traceId }
    },

    async finish (id, _fingerprint, answer) {
      const found = requests.get(id)
      if (found !== undefined) found.answer = answer
    },

    async release (id) {
      const found = requests.get(id)
      if (found !== undefined) found.inWorkUntil = 0
    },

    async forget (id) {
      const found = requests.get(id)
      if (found === undefined || found.answer !== undefined) return
      if (found.isRetry) found.inWorkUntil = 0
      else requests.delete(id)
    }
  }
}

import { randomUUID } from 'node:crypto'
import { IDEMPOTENCY } from '../bus/idempotency.js'
import { toInkcastError } from '../redis/errors.js'
import { requestState } from '../redis/keys.js'
import { LEASE } from './requests.js'

/**
 * For all api processes that share a Redis.
 *
 * @param {{ redis: Pick<import('../redis/client.js').RedisConnection, 'scripts'> }} dependencies
 * @returns {import('./requests.js').Requests}
 */
export function createRedisRequests ({ redis: { scripts } }) {
  const process = randomUUID()
  /** What this process is at, by id: if Redis says that it is at anything else, an answer of Redis was lost. @type {Map<string, string>} */
  const working = new Map()

  /** @param {string} id @param {[answer: string, fingerprint: string, ttl: number]} args */
  async function settle (id, args) {
    working.delete(id)
    await scripts.settle([requestState(id)], args).catch(rethrow)
  }

  return {
    async begin (id, fingerprint, traceId) {
      const own = working.get(id)
      if (own !== undefined) return { state: own === fingerprint ? 'busy' : 'other' }
      working.set(id, fingerprint)
      /** @type {string | undefined} */
      let state
      try {
        let text
        [state, text = ''] = await scripts.request([requestState(id)], [fingerprint, traceId, LEASE, IDEMPOTENCY.ttl, process]).catch(rethrow)
        if (state === 'new') return { state, traceId: text }
        return state === 'done' ? { state, answer: text } : { state: /** @type {'busy' | 'other'} */ (state) }
      } finally {
        if (state !== 'new') working.delete(id)
      }
    },
    finish: (id, fingerprint, answer) => settle(id, [answer, fingerprint, IDEMPOTENCY.ttl]),
    release: (id) => settle(id, ['', '', 0])
  }
}

/** @param {unknown} error @returns {never} */
function rethrow (error) {
  throw toInkcastError(error)
}

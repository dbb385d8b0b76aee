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
  return {
    async begin (id, fingerprint, traceId) {
      const [state, text = ''] = await scripts.request([requestState(id)], [fingerprint, traceId, LEASE, IDEMPOTENCY.ttl]).catch(rethrow)
      if (state === 'new') return { state, traceId: text }
      return state === 'done' ? { state, answer: text } : { state }
    },
    finish: async (id, fingerprint, answer) => { await scripts.settle([requestState(id)], [answer, fingerprint, IDEMPOTENCY.ttl]).catch(rethrow) },
    release: async (id) => { await scripts.settle([requestState(id)], ['', '', 0]).catch(rethrow) }
  }
}

/** @param {unknown} error @returns {never} */
function rethrow (error) {
  throw toInkcastError(error)
}

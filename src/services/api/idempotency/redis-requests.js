import { IDEMPOTENCY } from '../../../log/bus/contract.js'
import { throwInkcastError } from '../../../redis/errors.js'
import { requestState } from '../../../redis/keys.js'

/** A process that has not renewed its request for this time counts as dead, ms. */
const LEASE = 5000
/** Interval of renewals, ms. */
const RENEW = 1000

/**
 * For all api processes that share a Redis.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {Pick<import('../../../base/common/clock.js').Clock, 'monotonic' | 'every'>} dependencies.clock
 * @param {Pick<import('../../../base/common/random.js').Random, 'uuid'>} dependencies.random
 * @returns {import('./requests.js').Requests}
 */
export function createRedisRequests ({ redis: { scripts }, clock, random }) {
  const process = random.uuid()
  /**
   * Requests of this process, by id. If Redis has another one for this process, an answer of Redis was lost.
   * @type {Map<string, { fingerprint: string, traceId: string, since: number, isRetry: boolean }>}
   */
  const working = new Map()
  /** @type {import('../../../base/common/clock.js').Timer | undefined} */
  let renewing

  /**
   * @param {string} id
   * @param {string} fingerprint
   * @param {string} traceId
   * @returns {ReturnType<typeof scripts.request>}
   */
  const request = (id, fingerprint, traceId) =>
    scripts.request([requestState(id)], [fingerprint, traceId, LEASE, IDEMPOTENCY.ttl, process, 2 * RENEW])

  /** Most are done within milliseconds, and nothing is said of them. */
  function renew () {
    const now = clock.monotonic()
    for (const [id, { fingerprint, traceId, since }] of working) {
      // the next time is soon
      if (now - since >= RENEW) request(id, fingerprint, traceId).catch(() => {})
    }
  }

  /** @param {string} id */
  function done (id) {
    working.delete(id)
    if (working.size > 0) return
    renewing?.stop()
    renewing = undefined
  }

  /** @param {string} id @param {[answer: string, fingerprint: string, ttl: number]} args */
  async function settle (id, args) {
    done(id)
    await scripts.settle([requestState(id)], args).catch(throwInkcastError)
  }

  const release = (/** @type {string} */ id) => settle(id, ['', '', 0])

  return {
    async begin (id, fingerprint, traceId) {
      const own = working.get(id)
      if (own !== undefined) return { state: own.fingerprint === fingerprint ? 'busy' : 'other' }
      const work = { fingerprint, traceId, since: clock.monotonic(), isRetry: false }
      working.set(id, work)
      renewing ??= clock.every(RENEW, renew).unref()
      /** @type {string | undefined} */
      let state
      try {
        let text, isRetry
        [state, text = '', isRetry] = await request(id, fingerprint, traceId).catch(throwInkcastError)
        work.isRetry = isRetry === 1
        if (state === 'new') return { state, traceId: work.traceId = text }
        return state === 'done' ? { state, answer: text } : { state: /** @type {'busy' | 'other'} */ (state) }
      } finally {
        if (state !== 'new') done(id)
      }
    },
    finish: (id, fingerprint, answer) => settle(id, [answer, fingerprint, IDEMPOTENCY.ttl]),
    release,

    async forget (id) {
      const work = working.get(id)
      if (work === undefined) return
      if (work.isRetry) return release(id)
      done(id)
      await scripts.forget([requestState(id)], [process]).catch(throwInkcastError)
    }
  }
}

import { IDEMPOTENCY } from '../../../log/bus/contract.js'
import { throwInkcastError } from '../../../redis/errors.js'

/** A process that has not renewed its request for this time counts as dead, ms. */
const LEASE = 5000
/** Interval of renewals, ms. */
const RENEW = 1000

/**
 * The state of requests with an idempotency key, of all api processes together, for `IDEMPOTENCY.ttl` after each one's
 * start.
 *
 * @typedef {object} Requests
 * @property {(id: string, fingerprint: string, traceId: string) => Promise<Begun>} begin of concurrent callers
 *   with the same request, one gets `new`. Rejects with `unavailable`
 * @property {(id: string, fingerprint: string, answer: string) => Promise<void>} finish then `begin` returns `done`
 * @property {(id: string) => Promise<void>} release it failed, or its outcome is unknown: then `begin` returns `new`,
 *   unless another process works on it by now
 * @property {(id: string) => Promise<void>} forget it was refused and certainly published nothing: then `begin` returns
 *   `new` for any fingerprint, with its own trace id. The same as `release` if an earlier try, which was not forgotten,
 *   may have published
 */

/**
 * @typedef {{ state: 'new', traceId: string } | { state: 'done', answer: string } | { state: 'busy' } | { state:
 *   'other' }} Begun `new`: execute it, with this trace id, which is that of an earlier try if there was one; `busy`:
 *   in progress, until its process has given no sign of life for a while; `other`: the fingerprint is not that of the
 *   first request with this id
 */

/**
 * For all api processes that share a Redis.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../../redis/client.js').RedisConnection, 'scripts' | 'keys'>} dependencies.redis
 * @param {Pick<import('../../../base/common/clock.js').Clock, 'monotonic' | 'every'>} dependencies.clock
 * @param {Pick<import('../../../base/common/random.js').Random, 'uuid'>} dependencies.random
 * @returns {Requests}
 */
export function createRedisRequests ({ redis: { scripts, keys }, clock, random }) {
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
    scripts.request([keys.requestState(id)], [fingerprint, traceId, LEASE, IDEMPOTENCY.ttl, process, 2 * RENEW])

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
    await scripts.settle([keys.requestState(id)], [...args, process]).catch(throwInkcastError)
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
      await scripts.forget([keys.requestState(id)], [process]).catch(throwInkcastError)
    }
  }
}

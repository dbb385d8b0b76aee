import { InkcastError } from '../base/common/errors.js'
import { FairTurns } from '../base/common/fair-turns.js'
import { fetchJson } from '../base/common/fetch-json.js'
import { LogLimit } from '../base/common/log-limit.js'
import { LruCache } from '../base/common/lru.js'

/** Lifetime of a cached answer, ms: a right withdrawn without a revoke ends within this time. */
const TTL = 10_000
const MAX_ANSWERS = 10_000
/** Also the measure for the login (services/connect), ms. */
export const TIMEOUT = 2000
/** Requests in progress, and those that wait for a turn: few, so that a hanging service does not collect them all. */
const MAX_IN_FLIGHT = 200
const MAX_WAITING = 200
const MAX_BYTES = 4096
const WARN_EVERY = 10_000

/**
 * Asks the service at `url` by POST `{ uid, guid, access }`, which answers 200 `{ "allow": true | false }`.
 * Any other answer counts as a failure: the client is refused and may retry. Users take turns, so that one who asks for
 * many documents does not keep the others from theirs.
 *
 * @param {object} dependencies
 * @param {string} dependencies.url
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 */
export function createAccessHook ({ url, log, clock }) {
  const stopping = new AbortController()
  /** @type {LruCache<boolean>} */
  const answers = new LruCache(MAX_ANSWERS)
  /** @type {Map<string, Promise<boolean>>} */
  const inFlight = new Map()
  const turns = new FairTurns({
    atOnce: MAX_IN_FLIGHT, maxWaiting: MAX_WAITING, refusal: 'too many requests to the access service are in progress'
  })
  const logLimit = new LogLimit({ interval: WARN_EVERY, clock })

  /** @param {string} key @param {{ uid: string, guid: string, access: string }} question */
  async function request (key, question) {
    try {
      const answer = await fetchJson(url, {
        post: question,
        timeout: TIMEOUT,
        maxBytes: MAX_BYTES,
        signal: stopping.signal,
        clock
      })
      const allow = /** @type {{ allow?: unknown } | null} */ (answer)?.allow
      if (typeof allow !== 'boolean') throw new Error('the response has no boolean "allow"')
      answers.set(key, allow, clock.monotonic() + TTL)
      return allow
    } catch (error) {
      if (!stopping.signal.aborted && logLimit.due())
        log.warn({ err: error }, 'the access service is unavailable: documents that need it cannot be opened')
      throw new InkcastError('unavailable', 'access cannot be checked at the moment')
    }
  }

  return {
    /**
     * @param {string} uid
     * @param {string} guid
     * @param {string} access
     * @param {number} [revokedAt] time of the last revoke of the document for the user, ms since 1970; 0: never.
     *   Answers to earlier requests do not count
     * @returns {boolean | Promise<boolean>}
     * @throws {InkcastError} (rejects with) unavailable
     */
    ask (uid, guid, access, revokedAt = 0) {
      const key = `${access}\n${uid}\n${guid}\n${revokedAt}` // unambiguous, because ids contain no control characters
      const known = answers.get(key, clock.monotonic())
      if (known !== undefined) return known
      const pending = inFlight.get(key)
      if (pending !== undefined) return pending
      const answer = turns.run(uid, () => request(key, { uid, guid, access })).finally(() => inFlight.delete(key))
      inFlight.set(key, answer)
      return answer
    },

    stop () { stopping.abort() }
  }
}

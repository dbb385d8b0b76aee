import { LogLimit } from '../base/common/log-limit.js'
import { isForbidden } from './errors.js'

/** Time after the last refusal until it is considered resolved, ms. Longer than the pause between retries. */
const SHOWN_FOR = 10_000
/** Commands that ioredis and inkcast can do without. */
const OPTIONAL = new Set(['info', 'client'])

/**
 * Remembers missing permissions of inkcast's user in Redis, for the log and the readiness check: callers only get
 * `unavailable`, which does not show what to change.
 *
 * @param {object} dependencies
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createRefusals ({ log, clock }) {
  let reason = ''
  let refusedAt = -Infinity
  const logLimit = new LogLimit({ clock })
  return {
    /** @param {unknown} error of any command */
    note (error) {
      if (!(error instanceof Error) || !isForbidden(error)) return
      if (
        OPTIONAL.has(/** @type {{ command?: { name?: string } }} */ (error).command?.name ?? '') &&
        error.message.startsWith('NOPERM')
      )
        return
      // for a script Redis appends its hash and line
      reason = error.message.replace(/ script: .*$/s, '')
      refusedAt = clock.monotonic()
      if (logLimit.due()) log.warn({ reason }, 'redis refuses what inkcast needs, retrying')
    },

    /** @returns {string | null} the last refusal, if it is recent */
    get reason () { return clock.monotonic() - refusedAt < SHOWN_FOR ? `Redis refuses what inkcast needs: ${reason}` : null }
  }
}

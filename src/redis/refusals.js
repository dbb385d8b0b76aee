import { systemClock } from '../common/clock.js'
import { LogLimit } from '../common/log-limit.js'
import { isForbidden } from './errors.js'

/** So long after the last one nothing is refused any more, ms: whatever does not get through is tried again sooner. */
const SHOWN_FOR = 10_000
/** What ioredis and we would like to know or say, and do without where the user may not. */
const OPTIONAL = new Set(['info', 'client'])

/**
 * Remembers that Redis refuses our user what we need, for the log and the readiness check: to whoever asked it is
 * `unavailable`, which tells nobody what to change.
 *
 * @param {{ log: import('../common/log.js').Log, now?: () => number }} dependencies
 */
export function createRefusals ({ log, now = systemClock.monotonic }) {
  let reason = ''
  let refusedAt = -Infinity
  const logLimit = new LogLimit({ clock: { monotonic: now } })
  return {
    /** @param {unknown} error what any command was rejected with */
    note (error) {
      if (!(error instanceof Error) || !isForbidden(error)) return
      if (
        OPTIONAL.has(/** @type {{ command?: { name?: string } }} */ (error).command?.name ?? '') &&
        error.message.startsWith('NOPERM')
      )
        return
      // of a script Redis tells its hash and line as well
      reason = error.message.replace(/ script: .*$/s, '')
      refusedAt = now()
      if (logLimit.due()) log.warn({ reason }, 'redis refuses what inkcast needs, trying again')
    },

    /** @returns {string | null} what Redis refused lately */
    get reason () { return now() - refusedAt < SHOWN_FOR ? `Redis refuses what inkcast needs: ${reason}` : null }
  }
}

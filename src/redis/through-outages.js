import { Backoff, retry } from '../base/common/backoff.js'
import { LogLimit } from '../base/common/log-limit.js'
import { isForbidden, toInkcastError } from './errors.js'

/**
 * Runs a step of the start of a process, which waits for Redis: again until Redis is available. One line a minute says
 * what it waits for. A permission that is missing fails the start, as a wrong password does.
 *
 * @template T
 * @param {() => Promise<T>} step may run again after it was carried out without an answer
 * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'> & { signal: AbortSignal }}
 *   services
 * @returns {Promise<T>} rejects with other errors of the step, and with the reason of the signal
 */
export function throughOutages (step, { log, clock, random, signal }) {
  const logLimit = new LogLimit({ clock })
  return retry(step, {
    signal,
    clock,
    backoff: new Backoff({ random }),
    retryable: isOutage,
    onFailure (error) {
      const { cause } = toInkcastError(error)
      if (logLimit.due()) log.warn({ cause: /** @type {Error} */ (cause).message }, 'the start waits for redis')
    }
  })
}

/** @param {unknown} error of a command, or of a call of `createAttempt` */
export function isOutage (error) {
  const { code, cause } = toInkcastError(error)
  // without a cause the error is our own: all numbers are taken, or the part is stopped
  return code === 'unavailable' && cause instanceof Error && !isForbidden(cause)
}

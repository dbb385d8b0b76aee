import { InkcastError } from '../common/errors.js'

/**
 * Answers of Redis that mean "not now": it is loading, out of memory, failing over, busy with a script, cannot write to
 * disk, or the cluster is in motion; and our scripts: what Redis has lost comes again first.
 */
const TEMPORARY =
  /^(?:LOADING|OOM|READONLY|BUSY|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOSCRIPT|UNBLOCKED|HEALING|UNHEALED|GENERATION)\b/
/**
 * A permission of our user was taken away, or its password changed. It may be given back, and nothing is wrong with
 * what was asked: that is tried again, however long it takes. (Within scripts Redis 7.0 has no code for it.)
 */
const FORBIDDEN = /^(?:NOPERM|NOAUTH|WRONGPASS|ERR The user executing the script can't)\b/
/** Refused at the door; going on trying does not help. */
const REFUSED = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:invalid password|AUTH|Client sent AUTH))/

/**
 * @param {unknown} error what a command was rejected with
 * @returns {InkcastError} `unavailable` if Redis is away, says "not now" or does not let our user: the command was
 *   not executed, or its outcome is unknown; `internal` if Redis refused the command as such
 */
export function toInkcastError (error) {
  if (error instanceof InkcastError) return error
  if (!(error instanceof Error)) return new InkcastError('internal', undefined, { cause: error })
  const answered = error.name === 'ReplyError' && !TEMPORARY.test(error.message) && !isForbidden(error)
  return new InkcastError(answered ? 'internal' : 'unavailable', undefined, { cause: withoutArguments(error) })
}

/**
 * For `catch`.
 * @param {unknown} error what a command was rejected with
 * @returns {never}
 * @throws {InkcastError} see toInkcastError
 */
export function throwInkcastError (error) {
  throw toInkcastError(error)
}

/**
 * @param {unknown} error what a command was rejected with
 * @returns {boolean} it was on its way when its connection ended: whether it was executed is not known
 */
export const isUnanswered = (error) =>
  error instanceof Error && (error.name === 'MaxRetriesPerRequestError' || error.message === 'Connection is closed.')

/** @param {Error} error @returns {boolean} our user may not do this now */
export const isForbidden = (error) => FORBIDDEN.test(error.message)

/** @param {Error} error @returns {boolean} the credentials are wrong or not sufficient */
export const isRefusal = (error) => REFUSED.test(error.message)

/**
 * ioredis hangs the command with all its arguments on errors; payloads and passwords do not belong into logs.
 * @param {Error & { command?: { name?: string, args?: unknown } }} error
 */
export function withoutArguments (error) {
  if (error.command !== undefined) error.command = { name: error.command.name }
  return error
}

/**
 * For what is kept in Redis: each call rejects with InkcastErrors only, and one that fails is counted. TypeErrors are
 * the caller's, or ours.
 *
 * @param {object} dependencies
 * @param {string} dependencies.stopped what its calls are told before it has started and after it has stopped
 * @param {() => boolean} dependencies.isRunning
 * @param {import('prom-client').Counter<'operation'>} dependencies.errors
 */
export function createAttempt ({ stopped, isRunning, errors }) {
  /**
   * @template T
   * @param {string} operation
   * @param {() => Promise<T>} call
   * @returns {Promise<T>}
   */
  return async (operation, call) => {
    if (!isRunning()) throw new InkcastError('unavailable', stopped)
    try {
      return await call()
    } catch (error) {
      if (error instanceof TypeError) throw error
      errors.inc({ operation })
      throw toInkcastError(error)
    }
  }
}

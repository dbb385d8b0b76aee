import { InkcastError } from '../base/common/errors.js'

/**
 * Temporary errors: Redis is loading, out of memory, failing over, busy with a script, cannot write to disk, or slots
 * of the cluster move. HEALING, UNHEALED and GENERATION come from inkcast's scripts (decision 0094).
 */
const TEMPORARY =
  /^(?:LOADING|OOM|READONLY|BUSY|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOSCRIPT|UNBLOCKED|HEALING|UNHEALED|GENERATION)\b/
/**
 * A permission of inkcast's user was removed, or its password changed. The command itself is correct and the permission
 * may be granted again, so callers retry without a limit. (Within scripts neither Redis 7.0 nor later ones and Valkey
 * have a code for it.)
 */
const FORBIDDEN = /^(?:NOPERM|NOAUTH|WRONGPASS|ERR The user executing the script can't|ERR ACL failure in script)\b/
/** The connection was refused; retries do not help. */
const REFUSED = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:invalid password|AUTH|Client sent AUTH))/

/**
 * @param {unknown} error of a command
 * @returns {InkcastError} `unavailable` if Redis is unavailable, has a temporary error or denies a permission: the
 *   command was not executed, or its outcome is unknown; `internal` if Redis refused the command itself
 */
export function toInkcastError (error) {
  if (error instanceof InkcastError) return error
  if (!(error instanceof Error)) return new InkcastError('internal', undefined, { cause: error })
  const answered = error.name === 'ReplyError' && !TEMPORARY.test(error.message) && !isForbidden(error)
  return new InkcastError(answered ? 'internal' : 'unavailable', undefined, { cause: withoutArguments(error) })
}

/**
 * For `catch`.
 * @param {unknown} error of a command
 * @returns {never}
 * @throws {InkcastError} see toInkcastError
 */
export function throwInkcastError (error) {
  throw toInkcastError(error)
}

/**
 * @param {unknown} error of a command
 * @returns {boolean} whether its connection ended while it was in progress: the outcome is unknown
 */
export const isUnanswered = (error) =>
  error instanceof Error && (error.name === 'MaxRetriesPerRequestError' || error.message === 'Connection is closed.')

/** @param {Error} error @returns {boolean} whether inkcast's user lacks a permission now */
export const isForbidden = (error) => FORBIDDEN.test(error.message)

/** @param {Error} error @returns {boolean} whether the credentials are wrong or insufficient */
export const isRefusal = (error) => REFUSED.test(error.message)

/**
 * Removes the arguments that ioredis attaches to errors: payloads and passwords must not be logged.
 * @param {Error & { command?: { name?: string, args?: unknown } }} error
 */
export function withoutArguments (error) {
  if (error.command !== undefined) error.command = { name: error.command.name }
  return error
}

/**
 * Wraps calls of a Redis implementation: they reject with InkcastErrors only, and failures are counted. TypeErrors are
 * mistakes in the code and pass through.
 *
 * @param {object} dependencies
 * @param {string} dependencies.stopped error message before the start and after the stop
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

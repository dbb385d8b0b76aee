import { InkcastError } from '../common/errors.js'
import { toInkcastError } from './errors.js'

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

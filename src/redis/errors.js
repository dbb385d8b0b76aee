import { InkcastError } from '../errors.js'

/**
 * Answers of Redis that mean "not now": it is loading, out of memory, failing over, busy with a script, cannot write to
 * disk, or the cluster is in motion.
 */
const TEMPORARY = /^(?:LOADING|OOM|READONLY|BUSY|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOSCRIPT|UNBLOCKED)\b/
/** Refused at the door; going on trying does not help. */
const REFUSED = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:invalid password|AUTH|Client sent AUTH))/

/**
 * @param {unknown} error what a command was rejected with
 * @returns {InkcastError} `unavailable` if Redis is away or says "not now": the command was not executed, or its
 *   outcome is unknown; `internal` if Redis refused the command as such
 */
export function toInkcastError (error) {
  if (error instanceof InkcastError) return error
  if (!(error instanceof Error)) return new InkcastError('internal', undefined, { cause: error })
  const answered = error.name === 'ReplyError' && !TEMPORARY.test(error.message)
  return new InkcastError(answered ? 'internal' : 'unavailable', undefined, { cause: withoutArguments(error) })
}

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

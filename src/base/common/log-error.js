import { InkcastError } from './errors.js'

/**
 * Errors of the network, of files and of TLS: their message has the address or path, and the stack is Node's own.
 */
const OF_THE_SYSTEM = /^(?:E[A-Z0-9]+|UND_ERR_\w+|ERR_(?:TLS|SSL)_\w+|CERT_\w+|\w+_CERT\w*|UNABLE_TO_\w+)$/
/** Errors that a server has answered, and those of connections that ended. */
const OF_A_SERVER =
  /^(?:ReplyError|MaxRetriesPerRequestError|ClusterAllFailedError|KafkaJS\w*|AbortError|TimeoutError|ConfigError)$/
/** Errors of ioredis without a connection: they have neither a name nor a code of their own. */
const WITHOUT_REDIS =
  /^(?:Stream isn't writeable|Connection is closed|Command timed out|Socket timeout|Cluster isn't ready|Node is disconnected|No master node|Cluster is|None of startup nodes|All sentinels are unreachable|Too many Cluster redirections)/

/**
 * @param {unknown} error
 * @returns {boolean} whether its message says everything: a service did not respond, say. Anything else is a defect,
 *   and its stack shows where
 */
function isExpected (error) {
  if (!(error instanceof Error)) return false
  if (error instanceof InkcastError) return error.code !== 'internal'
  const { code, name, cause } = /** @type {NodeJS.ErrnoException & { cause?: unknown }} */ (error)
  if (OF_A_SERVER.test(name) || WITHOUT_REDIS.test(error.message) || (typeof code === 'string' && OF_THE_SYSTEM.test(code))) return true
  // fetch hides the reason in its cause
  return name === 'TypeError' && error.message === 'fetch failed' && isExpected(cause)
}

/**
 * What the log shows of an error: type, message, code and causes in one sentence, and the stack of an unexpected one.
 * Other properties of errors may hold payloads, and are left out.
 *
 * @param {() => boolean} withStacks whether expected errors have a stack as well
 * @returns {(error: unknown) => unknown}
 */
export const createErrorSerializer = (withStacks) => (error) => {
  if (!(error instanceof Error)) return error
  const causes = chainOf(error)
  const { code } = /** @type {NodeJS.ErrnoException} */ (error)
  return {
    type: error.name,
    message: sentenceOf(causes),
    ...(code === undefined ? {} : { code }),
    ...(isExpected(error) && !withStacks() ? {} : { stack: causes.map(({ stack }) => stack).join('\ncaused by: ') })
  }
}

/** @param {Error} error @returns {Error[]} it and its causes, five at most */
function chainOf (error) {
  const chain = [error]
  for (let cause = error.cause; cause instanceof Error && chain.length < 5; cause = cause.cause) chain.push(cause)
  return chain
}

/** @param {Error[]} causes @returns {string} the message of each that no earlier one contains */
const sentenceOf = (causes) =>
  causes
    .map(messageOf)
    .filter((text, index, all) => !all.slice(0, index).some((before) => before.includes(text)))
    .join(': ')

/** @param {Error & { code?: string, errors?: unknown }} error an AggregateError of several addresses has no message */
const messageOf = ({ message, code, errors }) =>
  message || (Array.isArray(errors) ? errors.map((each) => each?.message ?? each).join(', ') : code) || ''

import { InkcastError, publicError } from '../errors.js'
import * as join from './handlers/join.js'
import * as leave from './handlers/leave.js'
import * as refresh from './handlers/refresh.js'
import * as send from './handlers/send.js'
import * as signal from './handlers/signal.js'
import { parseInput } from './handlers/input.js'

/**
 * What the handlers of client events need. Each handler is one file with the schema of its one argument and
 * `handle(connection, input, context)`, whose result is acknowledged with `ok: true`.
 *
 * @typedef {object} HandlerContext
 * @property {ReturnType<typeof import('../documents/feeds.js').createFeeds>} feeds
 * @property {ReturnType<typeof import('../documents/access.js').createAccess>} access
 * @property {ReturnType<typeof import('../auth/authenticator.js').createAuthenticator>} authenticator
 * @property {ReturnType<typeof import('./expiry.js').createExpiry>} expiry
 * @property {(connection: import('./connection.js').Connection) => Promise<void>} reauthorize leaves what the identity no longer allows
 * @property {import('../bus/contract.js').Bus} bus
 * @property {import('../uplink.js').Uplink} uplink
 * @property {import('../config/load.js').Config['limits']} limits
 * @property {import('../metrics.js').Metrics} metrics
 * @property {import('../clock.js').Clock} clock
 * @property {import('../log.js').Log} log
 */

/** @type {Map<string, { schema: import('zod').ZodType<any>, handle: (connection: import('./connection.js').Connection, input: any, context: HandlerContext) => Promise<object> }>} */
const HANDLERS = new Map(Object.entries({
  'doc:join': join,
  'doc:leave': leave,
  'doc:send': send,
  'doc:signal': signal,
  'auth:refresh': refresh
}))

/**
 * Handles one event of a client. Never throws; the client learns of an error where it asked for an acknowledgement.
 *
 * @param {import('./connection.js').Connection} connection
 * @param {string} event
 * @param {unknown[]} args the last one is a function if the client asked for an acknowledgement
 * @param {HandlerContext} context
 */
export async function handleEvent (connection, event, args, context) {
  const ask = args.at(-1)
  const acknowledge = typeof ask === 'function' ? ask : undefined
  const inputs = acknowledge ? args.length - 1 : args.length
  const handler = HANDLERS.get(event)
  // clients choose event names: only known ones become a label
  const label = handler === undefined ? 'unknown' : event
  try {
    if (!connection.mayHandle()) throw new InkcastError('rate_limited')
    if (handler === undefined) throw new InkcastError('unknown_event')
    if (inputs !== 1) throw new InkcastError('bad_request', `${event} takes one argument`)
    const answer = await handler.handle(connection, parseInput(handler.schema, args[0]), context)
    context.metrics.client_events.inc({ event: label, result: 'ok' })
    acknowledge?.({ ok: true, ...answer })
  } catch (error) {
    const shown = publicError(error)
    context.metrics.client_events.inc({ event: label, result: shown.code })
    if (shown.code === 'internal') context.log.error({ err: error, event: label }, 'handler failed')
    acknowledge?.({ ok: false, error: shown })
  }
}

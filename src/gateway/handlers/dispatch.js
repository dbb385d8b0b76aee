import { InkcastError, publicError } from '../../base/common/errors.js'
import { happened } from '../../observe/metrics/points.js'
import { bytesOf } from '../../people/presence/answer-bytes.js'
import * as check from './check.js'
import * as history from './history.js'
import * as join from './join.js'
import * as leave from './leave.js'
import * as members from './members.js'
import * as refresh from './refresh.js'
import * as send from './send.js'
import * as signal from './signal.js'
import * as state from './state.js'
import { parseInput } from './input.js'
import { assertMayAct } from './standing.js'
import { refusedUndecoded } from './queued-edits.js'
import { kRefused } from '../../transport/admission/rate-limit.js'

/** @typedef {import('./context.js').HandlerContext} HandlerContext */

/**
 * @typedef {object} Handler
 * @property {import('valibot').GenericSchema<unknown, any>} schema of its argument
 * @property {(input: unknown) => boolean} [isPlain] whether the schema is known to return an argument as it is
 * @property {(connection: import('../connection.js').Connection, input: any, context: HandlerContext) =>
 *   Promise<object>} handle
 */

/** @type {Map<unknown, Handler>} */
const HANDLERS = new Map(Object.entries({
  'doc:join': join,
  'doc:leave': leave,
  'doc:send': send,
  'doc:signal': signal,
  'doc:members': members,
  'doc:history': history,
  'doc:state': state,
  'auth:refresh': refresh,
  'gateway:check': check
}))

/**
 * Events that use no right: a client may always give one up, and a new token is used with the next event. `doc:send`
 * checks by itself (`mayWrite`), in its turn in a queue: a later edit must not be accepted before one that was refused.
 */
const WITHOUT_STANDING = new Set(['doc:leave', 'auth:refresh', 'gateway:check', 'doc:send'])

/** @param {unknown} event @returns {boolean} whether the gateway handles it, if only to refuse it */
export const isKnownEvent = (event) => event === kRefused || HANDLERS.has(event)

/**
 * Handles one event of a client. Never throws; errors are reported in the acknowledgement if the client asked for one.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {unknown} event a string, or kRefused (rate-limit.js)
 * @param {unknown[]} args the last one is a function if the client asked for an acknowledgement
 * @param {HandlerContext} context
 */
export async function handleEvent (connection, event, args, context) {
  // Socket.IO still emits packets that arrived before the close
  if (!connection.open) return
  const acknowledge = /** @type {Function | undefined} */ (typeof args.at(-1) === 'function' ? args.pop() : undefined)
  if (event === kRefused) {
    const [refused, name] = /** @type {[{ error: { code: string, retryable: boolean } }, string]} */ (args)
    if (name === 'doc:send' && refused.error.retryable) refusedUndecoded(connection)
    context.metrics.client_events.count(labelOf(name), refused.error.code)
    return void acknowledge?.(refused)
  }
  const refused = refusedByRate(connection, event, context)
  if (refused !== null) return void acknowledge?.(refused)
  const answer = await answerEvent(connection, event, args, context)
  if (answer.members !== undefined) connection.answered(bytesOf(answer.members))
  if (acknowledge === undefined) return
  if (answer.ok && typeof answer.guid === 'string') connection.about(answer.guid, () => acknowledge(answer))
  else acknowledge(answer)
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {unknown} event
 * @param {HandlerContext} context
 * @returns {{ ok: false, error: ReturnType<typeof publicError> } | null} null: its rate allows the event
 */
function refusedByRate (connection, event, { operationRates, metrics, clock }) {
  try {
    operationRates.take(connection.conn, /** @type {string} */ (event), clock.monotonic())
    return null
  } catch (error) {
    const shown = publicError(error)
    if (event === 'doc:send') refusedUndecoded(connection)
    metrics.client_events.count(labelOf(event), shown.code)
    return { ok: false, error: shown }
  }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {unknown} event
 * @param {unknown[]} args without the acknowledgement
 * @param {HandlerContext} context
 * @returns {Promise<{ ok: true, members?: import('../../people/presence/contract.js').Member[] } & Record<string, any>
 *   | { ok:
 *   false, members?: undefined, error: ReturnType<typeof publicError> }>}
 */
export async function answerEvent (connection, event, args, context) {
  const label = labelOf(event)
  try {
    const handler = HANDLERS.get(event)
    if (handler === undefined) throw new InkcastError('unknown_event')
    if (!WITHOUT_STANDING.has(label)) assertMayAct(context)
    if (args.length !== 1) throw new InkcastError('bad_request', `${event} takes one argument`)
    const input = handler.isPlain?.(args[0]) ? args[0] : parseInput(handler.schema, args[0])
    const answer = await handler.handle(connection, input, context)
    context.metrics.client_events.count(label, 'ok')
    if (happened.hasSubscribers) tell(connection, label, input, answer, 'ok')
    return { ok: true, ...answer }
  } catch (error) {
    const shown = publicError(error)
    context.metrics.client_events.count(label, shown.code)
    if (happened.hasSubscribers) tell(connection, label, args[0], {}, shown.code)
    if (shown.code === 'internal') context.log.error({ err: error, event: label }, 'handler failed')
    return { ok: false, error: shown }
  }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} event
 * @param {any} input of the client
 * @param {{ traceId?: string, recovered?: boolean, position?: import('../../wire/position.js').Position }} answer
 * @param {string} result
 */
function tell (connection, event, input, { traceId, recovered, position }, result) {
  const guid = typeof input?.guid === 'string' ? input.guid : undefined
  const details = recovered === undefined ? undefined : { recovered }
  connection.tell('client_event', { event, reason: result, guid, traceId, details, ...position })
}

/** Clients choose event names: only known ones become a label. @param {unknown} event @returns {string} */
const labelOf = (event) => HANDLERS.has(event) ? /** @type {string} */ (event) : 'unknown'

import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { strictObject, string, wholeNumber } from '../../base/common/schema.js'
import { runStep, sending } from '../../observe/metrics/points.js'
import { newTraceId } from '../../wire/headers.js'
import { withStandardDates } from '../../wire/msgpack-extensions.js'
import { parseTraceparent } from '../../wire/traceparent.js'
import { takeEvent } from '../document-rate.js'
import { assertMayAct } from './standing.js'
import { checkEventName, data, encodeData, event, guid, tab } from './input.js'
import { inOrder } from './queued-edits.js'

export const schema = strictObject({
  guid,
  event: v.optional(event),
  data,
  // as W3C Trace Context has it; another one is ignored
  traceparent: v.optional(v.pipe(string(), v.maxCodePoints(100))),
  tab: v.optional(tab),
  queue: v.optional(strictObject({
    id: v.pipe(string(), v.regex(/^[\w-]{16,64}$/, 'must have 16 to 64 letters, digits, hyphens or underscores')),
    seq: wholeNumber(1)
  }))
})

/**
 * Sends a client's message to the business services. The gateway sets the sender. The answer follows when the uplink
 * has accepted the message. One of a queue is sent once, and in the order of the queue.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, input, context) {
  const { guid, event = 'message', queue } = input
  checkEventName(event)
  if (queue === undefined) return send(connection, input, context)
  return inOrder(connection, `${queue.id} ${guid}`, queue.seq, () => send(connection, input, context))
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
async function send (connection, input, context) {
  const { rulesOf, uplink, limits, metrics, clock, random } = context
  const { guid, event = 'message', data, queue } = input
  const { rate, echo } = rulesOf(guid)
  if (rate !== undefined) takeEvent(connection, guid, rate, clock.monotonic())
  await mayWrite(connection, guid, context)
  const { value, contentType } = encodeData(connection, data)
  if (value.length > limits.maxRecordBytes) throw new InkcastError('value_too_large')
  const document = /** @type {{ hasMessage: boolean }} */ (connection.document(guid) ?? connection.unopened(guid))
  if (!document.hasMessage) {
    connection.beginsSending()
    document.hasMessage = true
    metrics.documents_written.inc()
  }
  const standard = contentType === 'application/msgpack' ? withStandardDates(value) : value
  const parent = parseTraceparent(input.traceparent)
  const sender = connection.senderOf(input.tab)
  const traceId = parent?.traceId ?? newTraceId(random)
  /** @type {import('../../log/publish/uplink.js').UplinkRecord} */
  const record = {
    operator: 'message',
    uid: connection.uid,
    sid: connection.id,
    guid,
    event,
    traceId,
    ...(parent !== null && { traceparent: input.traceparent }),
    timestamp: clock.now(),
    contentType,
    value: standard,
    ...(standard === value ? {} : { asSent: value }),
    sender,
    ...(echo === false && { except: [sender] }),
    ...(queue && {
      // an anonymous user is another one after a reconnect
      queue: { id: queue.id, number: queue.seq, ...(!connection.identity.anonymous && { uid: connection.uid }) }
    })
  }
  const [sent] = sending.start.hasSubscribers
    ? await runStep(sending, metrics, [record], async ([traced]) => [await uplink.send(traced)])
    : [await uplink.send(record)]
  return sent?.duplicate ? { duplicate: true } : { traceId }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {Pick<import('./context.js').HandlerContext, 'access' | 'mayAct'>} context
 * @returns {Promise<void>} rights of the time at which it resolves
 * @throws {InkcastError} not_joined, forbidden, unavailable
 */
export async function mayWrite (connection, guid, context) {
  const { access } = context
  /** @type {import('../../people/auth/identity.js').Identity} */
  let identity
  do {
    assertMayAct(context)
    assertJoined(connection, guid)
    identity = connection.identity
    if (!await access.check(identity, guid, 'write')) throw new InkcastError('forbidden')
    // meanwhile a new token may have come
  } while (identity !== connection.identity)
  // or the document left, the worker cut off, the user banned (clients of MQTT send without joining)
  assertMayAct(context)
  assertJoined(connection, guid)
  if (access.isBanned(identity.uid)) throw new InkcastError('forbidden')
}

/** @param {import('../connection.js').Connection} connection @param {string} guid @throws {InkcastError} not_joined */
function assertJoined (connection, guid) {
  if (!connection.document(guid)?.joined && connection.unopened(guid) === undefined) throw new InkcastError('not_joined')
}

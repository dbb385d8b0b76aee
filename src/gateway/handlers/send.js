import { z } from 'zod'
import { InkcastError } from '../../common/errors.js'
import { newTraceId } from '../../wire/headers.js'
import { withStandardDates } from '../../wire/msgpack-extensions.js'
import { checkEventName, encodeData, event, guid } from './input.js'

export const schema = z.strictObject({
  guid,
  event: event.optional(),
  data: z.unknown().refine((data) => data !== undefined, 'data is missing')
})

/**
 * Hands what a client did to the business services. Who sent it is set here, not by the client. Answers when the
 * uplink has it.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, event = 'message', data }, { access, uplink, limits, clock }) {
  checkEventName(event)
  await mayWrite(connection, guid, access)
  const { value, contentType } = encodeData(connection, data)
  if (value.length > limits.maxRecordBytes) throw new InkcastError('value_too_large')
  const standard = contentType === 'application/msgpack' ? withStandardDates(value) : value
  const traceId = newTraceId()
  await uplink.send({
    operator: 'message',
    uid: connection.uid,
    sid: connection.id,
    guid,
    event,
    traceId,
    timestamp: clock.now(),
    contentType,
    value: standard,
    ...(standard === value ? {} : { asSent: value })
  })
  return { traceId }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('./context.js').HandlerContext['access']} access
 * @throws {InkcastError} not_joined, forbidden
 */
export async function mayWrite (connection, guid, access) {
  if (!connection.document(guid)?.joined) throw new InkcastError('not_joined')
  if (!await access.check(connection.identity, guid, 'write')) throw new InkcastError('forbidden')
  // it may have been revoked while somebody was asked
  if (!connection.document(guid)?.joined) throw new InkcastError('not_joined')
}

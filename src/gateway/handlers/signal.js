import { InkcastError } from '../../base/common/errors.js'
import { strictObject } from '../../base/common/schema.js'
import { newTraceId } from '../../wire/headers.js'
import { takeEvent } from '../document-rate.js'
import { data, encodeData, event, guid } from './input.js'
import { mayWrite } from './send.js'

export const schema = strictObject({
  guid,
  event,
  data
})

/**
 * Sends a cursor, a selection or a laser pointer to all others who have the document open, at once; it is never
 * stored. Receivers see the sender in `meta.from`, which only the gateway sets.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, event, data }, context) {
  const { rulesOf, publisher, clock, random } = context
  const { signals, echo, rate } = rulesOf(guid)
  if (!connection.document(guid)?.joined) throw new InkcastError('not_joined')
  if (signals === 'nobody') throw new InkcastError('forbidden', 'this document has no signals')
  if (rate !== undefined) takeEvent(connection, guid, rate, clock.monotonic())
  if (signals === 'writers') await mayWrite(connection, guid, context)
  const { value, contentType, checked } = encodeData(connection, data)
  await publisher.publish({
    operator: 'broadcast',
    guid,
    event,
    except: echo === true ? [] : [connection.id],
    ephemeral: true,
    traceId: newTraceId(random),
    timestamp: clock.now(),
    from: connection.id,
    contentType,
    value
  }, { source: 'client', checked })
  return {}
}

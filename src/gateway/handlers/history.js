import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { strictObject, wholeNumber } from '../../base/common/schema.js'
import { MAX_ATTACHMENTS, payloadFor } from '../../documents/delivery/delivery.js'
import { readBackwards } from '../../documents/history.js'
import { guid } from './input.js'
import { assertMayAct } from './standing.js'

/** Maximum records per answer. */
const MAX_LIMIT = 100
const DEFAULT_LIMIT = 50

export const schema = strictObject({
  guid,
  before: v.optional(wholeNumber(1)),
  limit: v.optional(wholeNumber(1, MAX_LIMIT))
})

/**
 * Records of the log of a document that is open on this connection, the newest ones or those before an offset.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, before, limit = DEFAULT_LIMIT }, context) {
  const { bus, reads } = context
  const document = connection.document(guid)
  if (!document?.joined) throw new InkcastError('not_joined')
  const { records, position, more } = await readBackwards(reads.of(bus, connection.uid), guid, { before, limit })
  // the document may have been left or revoked meanwhile, or the worker cut off
  assertMayAct(context)
  if (!document.wanted) throw new InkcastError('not_joined')
  connection.answered(records.reduce((sum, { publication }) => sum + publication.value.length, 0))
  const { payloads, left } = payloadsFor(connection, records)
  return {
    guid,
    records: payloads.map((payload, i) => {
      const { offset, after, lost, publication: { event, traceId, timestamp, from, except } } = records[left + i]
      return {
        event,
        payload,
        meta: {
          guid,
          offset,
          ...(after !== undefined && { after }),
          ...(lost && { lost }),
          traceId,
          ts: timestamp,
          ...(from !== undefined && { from }),
          ...connection.tabs?.metaOf(except)
        }
      }
    }),
    position,
    more: more || left > 0
  }
}

/**
 * The payloads as live records have them. JSON clients accept few attachments in one message.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('../../log/bus/contract.js').BusRecord[]} records
 * @returns {{ payloads: unknown[], left: number }} of the newest ones; the number of older ones that are left out
 */
function payloadsFor ({ codec }, records) {
  const payloads = []
  let room = MAX_ATTACHMENTS
  for (const { publication } of records.toReversed()) {
    const { payload, attachments } = payloadFor(codec, publication)
    room -= attachments
    if (room < 0) break
    payloads.unshift(payload)
  }
  return { payloads, left: records.length - payloads.length }
}

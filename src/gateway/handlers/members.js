import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { boolean, strictObject, wholeNumber } from '../../base/common/schema.js'
import { guid } from './input.js'
import { assertMayAct } from './standing.js'

/** Maximum members per answer. */
const MAX_LIMIT = 500

export const schema = strictObject({
  guid,
  cursor: v.optional(guid),
  limit: v.optional(wholeNumber(1, MAX_LIMIT)),
  left: v.optional(boolean())
})

/**
 * The members present in a document that is open on this connection, even if the connection is not a member itself; on
 * request also the users who have left.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, cursor, limit, left }, context) {
  const { presence, rulesOf } = context
  const document = connection.document(guid)
  if (!document?.joined) throw new InkcastError('not_joined')
  if (!rulesOf(guid).presence) throw new InkcastError('presence_off')
  const gone = left ? { left: await presence.left(guid) } : undefined
  // read last: no later message for the members may be sent before the answer
  const page = await presence.members(guid, { cursor, limit })
  // the document may have been left or revoked meanwhile, or the worker cut off
  assertMayAct(context)
  if (!document.wanted) throw new InkcastError('not_joined')
  return { guid, ...page, ...gone }
}

import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { strictObject } from '../../base/common/schema.js'
import { takeEvent } from '../document-rate.js'
import { guid, idle, state } from './input.js'

export const schema = v.pipe(
  strictObject({ guid, state: v.optional(state), idle: v.optional(idle) }),
  v.check((input) => input.state !== undefined || input.idle !== undefined, 'must have a state or idle')
)

/**
 * Replaces what others see of this connection: its presence state, or whether it is idle. With a state, a connection
 * that is not a member yet becomes one, and the answer is that of a join.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, ...own }, { presence, rulesOf, clock }) {
  const document = connection.document(guid)
  if (!document?.joined) throw new InkcastError('not_joined')
  const rules = rulesOf(guid)
  if (!rules.presence) throw new InkcastError('presence_off')
  if (rules.rate !== undefined) takeEvent(connection, guid, rules.rate, clock.monotonic())
  if (own.state !== undefined) presence.checkState(own.state)
  if (document.presence !== null) {
    presence.setOwn(connection, document, own)
    return { guid }
  }
  if (own.state === undefined) throw new InkcastError('bad_request', 'only a member can be idle: send a state as well')
  const answer = await presence.join(connection, guid, document, own)
  // the document may have been left or revoked meanwhile
  if (!document.wanted) throw new InkcastError('not_joined')
  return { guid, ...answer }
}

import { InkcastError } from '../../base/common/errors.js'
import { strictObject } from '../../base/common/schema.js'
import { takeEvent } from '../document-rate.js'
import { guid, state } from './input.js'

export const schema = strictObject({ guid, state })

/**
 * Replaces the presence state of this connection. A connection that is not a member yet becomes one, and the answer is
 * that of a join.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid, state }, { presence, rulesOf, clock }) {
  const document = connection.document(guid)
  if (!document?.joined) throw new InkcastError('not_joined')
  const rules = rulesOf(guid)
  if (!rules.presence) throw new InkcastError('presence_off')
  if (rules.rate !== undefined) takeEvent(connection, guid, rules.rate, clock.monotonic())
  presence.checkState(state)
  if (document.presence !== null) {
    presence.setState(connection, document, state)
    return { guid }
  }
  const answer = await presence.join(connection, guid, document, state)
  // the document may have been left or revoked meanwhile
  if (!document.wanted) throw new InkcastError('not_joined')
  return { guid, ...answer }
}

import { InkcastError } from '../../base/common/errors.js'
import { strictObject } from '../../base/common/schema.js'
import { guid } from './input.js'

export const schema = strictObject({ guid })

/**
 * Closes a document on a connection.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, { guid }, context) {
  if (!leaveDocument(connection, guid, 'left', context)) throw new InkcastError('not_joined')
  return { guid }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../connection-listeners.js').EndReason} reason
 * @param {Pick<import('./context.js').HandlerContext, 'feeds' | 'connectionListeners' | 'presence'>} parts
 * @param {boolean} [lost] the connection was lost, so that the client may reconnect; default false
 * @returns {boolean} whether it was open
 */
export function leaveDocument (connection, guid, reason, { feeds, connectionListeners, presence }, lost = false) {
  const document = connection.document(guid)
  if (document === undefined) return false
  connection.removeDocument(guid)
  presence.leave(document, lost)
  feeds.leave(guid, connection)
  connection.leaveRoom(`doc:${guid}`)
  if (document.joined) connectionListeners.left(connection, guid, reason)
  return true
}

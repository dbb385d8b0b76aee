import { z } from 'zod'
import { InkcastError } from '../../errors.js'
import { guid } from './input.js'

export const schema = z.strictObject({ guid })

/**
 * Closes a document on a connection.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('../handlers.js').HandlerContext} context
 */
export async function handle (connection, { guid }, { feeds }) {
  if (!leaveDocument(connection, guid, feeds)) throw new InkcastError('not_joined')
  return { guid }
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../handlers.js').HandlerContext['feeds']} feeds
 * @returns {boolean} whether it was open
 */
export function leaveDocument (connection, guid, feeds) {
  if (!connection.removeDocument(guid)) return false
  feeds.leave(guid, connection)
  connection.socket.leave(`doc:${guid}`)
  return true
}

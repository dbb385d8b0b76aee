import { z } from 'zod'
import { InkcastError } from '../../errors.js'
import { guid, position, state } from './input.js'

export const schema = z.strictObject({ guid, position: position.nullish(), state: state.optional() })

/**
 * Opens a document on a connection; what was missed since `position` comes as ordinary events before the answer.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('../handlers.js').HandlerContext} context
 */
export async function handle (connection, { guid, position }, { feeds, access }) {
  let identity
  do {
    // a new token may come while the access service is asked about the old one
    identity = connection.identity
    if (!await access.check(identity, guid, 'read')) throw new InkcastError('forbidden')
  } while (identity !== connection.identity)
  const known = connection.document(guid)
  if (known !== undefined) {
    if (!known.joined) throw new InkcastError('bad_request', 'this document is being joined already')
    // an open document misses nothing, so there is nothing to send
    return { guid, position: feeds.position(guid), recovered: position != null }
  }
  if (!connection.open) throw new InkcastError('unavailable', 'the connection has gone')
  const document = connection.addDocument(guid)
  if (document === null) throw new InkcastError('too_many_documents')
  try {
    const answer = await feeds.join(guid, connection, position ?? undefined, () => document.wanted)
    if (!document.wanted) throw new InkcastError('not_joined', 'the document was left before it was joined')
    document.joined = true
    await connection.socket.join(`doc:${guid}`)
    return { guid, ...answer }
  } catch (error) {
    if (document.wanted) connection.removeDocument(guid)
    throw error
  }
}

import { z } from 'zod'
import { InkcastError } from '../../errors.js'
import { guid, position, state } from './input.js'
import { leaveDocument } from './leave.js'

export const schema = z.strictObject({ guid, position: position.nullish(), state: state.optional(), members: z.boolean().optional() })

/**
 * Opens a document on a connection; what was missed since `position` comes as ordinary events before the answer. Who gives a
 * state, or asks for the members, takes part in its presence.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('../handlers.js').HandlerContext} context
 */
export async function handle (connection, { guid, position, state, members }, context) {
  const { feeds, access, lifeCycle, presence } = context
  const known = connection.document(guid)
  if (known !== undefined && !known.joined) throw new InkcastError('bad_request', 'this document is being joined already')
  // before anything is awaited: a leave or a revocation that follows must find it
  const document = known ?? connection.addDocument(guid)
  if (document === null) throw new InkcastError('too_many_documents')
  const takesPart = state !== undefined || members === true
  try {
    if (state !== undefined) presence.checkState(state)
    await mayRead(connection, guid, access)
    assertWanted(document)
    // an open document misses nothing that does not come anyway, so there is nothing to send
    if (known !== undefined) {
      const answer = { guid, position: feeds.position(guid, connection), recovered: position != null }
      return takesPart ? { ...answer, ...await takePart(connection, guid, document, state, presence) } : answer
    }
    const answer = await feeds.join(guid, connection, position ?? undefined, () => document.wanted)
    assertWanted(document)
    document.joined = true
    lifeCycle.joined(connection, guid, state)
    await connection.socket.join(`doc:${guid}`)
    return takesPart ? { guid, ...answer, ...await takePart(connection, guid, document, state, presence) } : { guid, ...answer }
  } catch (error) {
    if (known === undefined && document.wanted) leaveDocument(connection, guid, 'ended', context)
    throw error
  }
}

/**
 * To be awaited last: nothing may be told to the members between this answer and the client's.
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../connection.js').OpenDocument} document
 * @param {object | undefined} state
 * @param {import('../handlers.js').HandlerContext['presence']} presence
 */
async function takePart (connection, guid, document, state, presence) {
  assertWanted(document)
  const answer = await presence.join(connection, guid, document, state)
  assertWanted(document)
  return answer
}

/** @param {{ wanted: boolean }} document @throws {InkcastError} not_joined */
function assertWanted ({ wanted }) {
  if (!wanted) throw new InkcastError('not_joined', 'the document was left before it was joined')
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../handlers.js').HandlerContext['access']} access
 * @throws {InkcastError} forbidden
 */
async function mayRead (connection, guid, access) {
  let identity
  do {
    // a new token may come while the access service is asked about the old one
    identity = connection.identity
    if (!await access.check(identity, guid, 'read')) throw new InkcastError('forbidden')
  } while (identity !== connection.identity)
}

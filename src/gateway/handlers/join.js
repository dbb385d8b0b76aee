import { z } from 'zod'
import { InkcastError } from '../../errors.js'
import { guid, isGuidOnly, position, state } from './input.js'
import { leaveDocument } from './leave.js'

export const schema = z.strictObject({ guid, position: position.nullish(), state: state.optional(), members: z.boolean().optional() })
export const isPlain = isGuidOnly

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
    const asked = mayRead(connection, guid, access)
    if (asked !== undefined) await asked
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
    const joining = connection.socket.join(`doc:${guid}`)
    if (joining !== undefined) {
      await joining
      assertWanted(document)
    }
    return takesPart ? { guid, ...answer, ...await takePart(connection, guid, document, state, presence) } : { guid, ...answer }
  } catch (error) {
    // who left it, or took it away, knows: what the join fails with after that answers nothing that is wanted
    assertWanted(document)
    if (known === undefined) leaveDocument(connection, guid, 'ended', context)
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
 * @returns {Promise<void> | undefined} undefined: it may, and nobody had to be asked
 * @throws {InkcastError} (or rejects with) forbidden
 */
function mayRead (connection, guid, access) {
  const { identity } = connection
  const allowed = access.check(identity, guid, 'read')
  if (allowed === false) throw new InkcastError('forbidden')
  return allowed === true ? undefined : whenAsked(connection, guid, access, identity, allowed)
}

/**
 * @param {import('../connection.js').Connection} connection
 * @param {string} guid
 * @param {import('../handlers.js').HandlerContext['access']} access
 * @param {import('../../auth/identity.js').Identity} identity that the service was asked about
 * @param {Promise<boolean>} allowed
 */
async function whenAsked (connection, guid, access, identity, allowed) {
  if (!await allowed) throw new InkcastError('forbidden')
  // a new token may have come meanwhile
  if (identity !== connection.identity) await mayRead(connection, guid, access)
}

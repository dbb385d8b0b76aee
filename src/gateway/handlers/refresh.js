import { InkcastError } from '../../base/common/errors.js'
import { strictObject, string } from '../../base/common/schema.js'
import { leaveDocument } from './leave.js'

export const schema = strictObject({ token: string() })

/**
 * Requests in progress of each connection, in the order in which they came: a valid token supersedes earlier ones,
 * whichever is checked first.
 * @type {WeakMap<import('../connection.js').Connection, Set<{ superseded: boolean }>>}
 */
const inProgress = new WeakMap()

/**
 * Accepts a new token of the same user, before the old one expires. Documents that the new token does not allow are
 * left. All documents are checked before anything changes: if a check fails, the old token stays in force until its own
 * expiry.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('valibot').InferOutput<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, input, context) {
  const own = { superseded: false }
  const requests = inProgress.get(connection) ?? new Set()
  inProgress.set(connection, requests.add(own))
  const assertNewest = () => {
    assertOpen(connection)
    if (own.superseded) throw new InkcastError('unavailable', 'another token came meanwhile')
  }
  try {
    const identity = await context.login.refresh(connection, input.token)
    assertNewest()
    if (identity.uid !== connection.uid) throw new InkcastError('forbidden', 'the token belongs to another user')
    if (context.login.endedBy(identity, context.access.orders.kickedAt(identity.uid)))
      throw new InkcastError('unavailable', 'the answer about this token is from before a kick, try again')
    for (const earlier of requests) {
      if (earlier === own) break
      earlier.superseded = true
    }
    /** @type {Map<string, boolean>} */
    const allowed = new Map()
    // includes documents joined meanwhile with the old token: a map's iterator reaches entries that are added
    for (const guid of connection.documents()) {
      if (allowed.has(guid)) continue
      // a client that keeps opening and leaving documents would prolong the loop without end
      if (allowed.size >= 2 * context.limits.maxDocumentsPerConnection) throw new InkcastError('rate_limited')
      allowed.set(guid, await context.access.check(identity, guid, 'read'))
      assertNewest()
    }
    // no await between the last check and the last leave
    const before = connection.identity
    connection.identity = identity
    connection.describe()
    // a client that has no newer token yet would be warned again, and come again, every second
    if (identity.expiresAt !== before.expiresAt || identity.key !== before.key) context.expiry.watch(connection)
    for (const [guid, mayStay] of allowed) {
      if (!mayStay && leaveDocument(connection, guid, 'revoked', context))
        connection.send('doc:revoked', { guid })
    }
    return { expiresAt: identity.expiresAt }
  } finally {
    requests.delete(own)
    if (requests.size === 0) inProgress.delete(connection)
  }
}

/** @param {import('../connection.js').Connection} connection @throws {InkcastError} unavailable */
function assertOpen ({ open }) {
  if (!open) throw new InkcastError('unavailable', 'the connection has gone')
}

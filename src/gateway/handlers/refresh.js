import { z } from 'zod'
import { InkcastError } from '../../common/errors.js'
import { describeSocket } from '../socket-data.js'
import { leaveDocument } from './leave.js'

export const schema = z.strictObject({ token: z.string() })

/**
 * What was asked last of connections whose documents are being checked: a token that comes later overtakes.
 * @type {WeakMap<import('../connection.js').Connection, object>}
 */
const newest = new WeakMap()

/**
 * Takes a new token of the same user, before the old one expires. Documents that the new one does not allow are left.
 * All are checked before anything changes: where that cannot be done, the old token stays in force, and ends when it
 * says.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('./context.js').HandlerContext} context
 */
export async function handle (connection, input, context) {
  const identity = await context.authenticator.authenticate(input.token)
  assertOpen(connection)
  if (identity.uid !== connection.uid) throw new InkcastError('forbidden', 'the token belongs to another user')
  newest.set(connection, input)
  try {
    /** @type {Map<string, boolean>} */
    const allowed = new Map()
    // also those that are joined meanwhile, with the old token: a map's iterator comes to what is added
    for (const guid of connection.documents()) {
      if (allowed.has(guid)) continue
      // who opens and leaves others all the time would keep it going
      if (allowed.size >= 2 * context.limits.maxDocumentsPerConnection) throw new InkcastError('rate_limited')
      allowed.set(guid, await context.access.check(identity, guid, 'read'))
      assertOpen(connection)
      if (newest.get(connection) !== input) throw new InkcastError('unavailable', 'another token came meanwhile')
    }
    // nothing is awaited between the last check and the last document that is left
    connection.identity = identity
    const { sockets } = /** @type {any} */ (connection.socket).client
    for (const socket of sockets.values()) describeSocket(socket, connection)
    context.expiry.watch(connection)
    for (const [guid, mayStay] of allowed) {
      if (!mayStay && leaveDocument(connection, guid, 'revoked', context))
        connection.socket.emit('doc:revoked', { guid })
    }
    return { expiresAt: identity.expiresAt }
  } finally {
    if (newest.get(connection) === input) newest.delete(connection)
  }
}

/** @param {import('../connection.js').Connection} connection @throws {InkcastError} unavailable */
function assertOpen ({ open }) {
  if (!open) throw new InkcastError('unavailable', 'the connection has gone')
}

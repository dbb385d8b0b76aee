import { z } from 'zod'
import { InkcastError } from '../../errors.js'

export const schema = z.strictObject({ token: z.string() })

/**
 * Takes a new token of the same user, before the old one expires. Documents that the new one does not allow are left.
 *
 * @param {import('../connection.js').Connection} connection
 * @param {import('zod').output<typeof schema>} input
 * @param {import('../handlers.js').HandlerContext} context
 */
export async function handle (connection, { token }, { authenticator, expiry, reauthorize }) {
  const identity = await authenticator.authenticate(token)
  if (!connection.open) throw new InkcastError('unavailable', 'the connection has gone')
  if (identity.uid !== connection.uid) throw new InkcastError('forbidden', 'the token belongs to another user')
  connection.identity = identity
  expiry.watch(connection)
  await reauthorize(connection)
  return { expiresAt: identity.expiresAt }
}

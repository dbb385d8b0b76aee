import { createHash } from 'node:crypto'

/** Characters of the id, 6 bits each: no client can find a client id of its own that gives the id of another user. */
const LENGTH = 22

/**
 * The id by which records exclude the page that caused them. It is bound to the user: a client chooses its `client` id
 * and may choose that of another page, so this id alone would exclude that page as well, and hide the change from it.
 * Anonymous users are other users after each reconnect, so theirs is bound to the client id alone, apart from the ids
 * of all users with a name.
 *
 * @param {Pick<import('../people/auth/identity.js').Identity, 'uid' | 'anonymous'>} identity
 * @param {string} client stable id across reconnects
 * @returns {string}
 */
export function senderId ({ uid, anonymous }, client) {
  const bound = JSON.stringify(anonymous ? [client] : [uid, client])
  return createHash('sha256').update(bound).digest('base64url').slice(0, LENGTH)
}

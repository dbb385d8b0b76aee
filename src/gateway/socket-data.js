/**
 * Sets the fields of `socket.data` that extensions, and other servers through `fetchSockets`, may read.
 *
 * @param {{ data: any }} socket Socket.IO's
 * @param {Pick<import('./connection.js').Connection, 'identity' | 'client'>} connection
 */
export function describeSocket ({ data }, { identity: { uid, name, grants, data: more }, client }) {
  data.uid = uid
  data.client = client
  data.name = name
  data.grants = grants
  if (more !== undefined || data.data !== undefined) data.data = more
}

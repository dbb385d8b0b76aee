/**
 * What extensions, and other servers through `fetchSockets`, see of a client in `socket.data`.
 *
 * @param {{ data: any }} socket Socket.IO's
 * @param {Pick<import('./connection.js').Connection, 'identity' | 'client'>} connection
 */
export function describeSocket ({ data }, { identity: { uid, name, grants }, client }) {
  data.uid = uid
  data.client = client
  data.name = name
  data.grants = grants
}

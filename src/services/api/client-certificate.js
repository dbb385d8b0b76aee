/**
 * The client certificate of a connection, if the client has shown one and it is valid. One that is not counts as none:
 * the request may have a token.
 *
 * @param {import('node:net').Socket | import('node:tls').TLSSocket} socket
 * @returns {import('./callers/credentials.js').Certificate | undefined}
 */
export function certificateOf (socket) {
  if (!('authorized' in socket) || !socket.authorized) return undefined
  const { subject, subjectaltname } = socket.getPeerCertificate()
  return subject === undefined ? undefined : { subject: /** @type {any} */ (subject), subjectaltname }
}

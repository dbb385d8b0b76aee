/**
 * The gateway on this machine, for the crowd.
 * @param {{ host: string, tls?: object, socketPath: string }} settings
 * @param {number} port
 * @returns {import('inkcast-load/websocket.js').Target}
 */
export const gatewayTarget = ({ host, tls, socketPath }, port) => ({
  host: host === '0.0.0.0' || host === '::' || host === 'localhost' ? '127.0.0.1' : host,
  port,
  path: socketPath,
  secure: tls !== undefined,
  // this machine's own gateway, whose certificate is often made for another name
  insecure: true
})

/** @param {{ tokens: readonly string[] }} api @returns {string | undefined} token of a caller of the api */
export const tokenOf = ({ tokens }) => tokens[0]?.replace(/^[^:]*:/, '')

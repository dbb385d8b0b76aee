import https from 'node:https'

/**
 * Requests to change to a protocol that is not spoken here, such as `Upgrade: h2c` of curl and of Java's HttpClient,
 * are answered as if they had not asked (RFC 9110, 7.8). Node passes every such request to the listener of `upgrade`,
 * if there is one, and lets go of its connection.
 */

/** Option of a Connection header that names the header Upgrade. */
const UPGRADE = /(?:^|,)[ \t]*upgrade[ \t]*(?=,|$)/gi

/** @param {import('http').IncomingMessage} req @returns {boolean} whether it asks for a WebSocket (RFC 6455, 4.1) */
export const asksForWebSocket = ({ method, headers }) =>
  method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket'

/**
 * @param {import('http').Server} server new
 * @returns {(req: import('http').IncomingMessage, socket: any, rest: Buffer) => void} returns the connection of an
 *   upgrade to Node's HTTP parser, without the request to upgrade
 */
export function createIgnoredUpgrades (server) {
  const [toNode] = server.listeners(server instanceof https.Server ? 'secureConnection' : 'connection')

  return (req, socket, rest) => {
    // The client did not wait for its last answer, which Node would write among those of this request.
    if (socket._httpMessage) return void socket.destroy()
    toNode.call(server, socket)
    socket.emit('data', Buffer.concat([Buffer.from(headWithoutUpgrade(req), 'latin1'), rest]))
  }
}

/** @param {import('http').IncomingMessage} req @returns {string} */
function headWithoutUpgrade ({ method, url, httpVersion, rawHeaders }) {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i], rawHeaders[i + 1]]
    if (/^connection$/i.test(name)) lines.push(`${name}: ${value.replace(UPGRADE, '').replace(/^[ \t]*,/, '')}`)
    else if (!/^upgrade$/i.test(name)) lines.push(`${name}: ${value}`)
  }
  return `${lines.join('\r\n')}\r\n\r\n`
}

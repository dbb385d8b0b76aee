import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * Every private hook of Socket.IO, Engine.IO and ws that inkcast uses, with the versions it was checked against.
 * With other versions the public path is taken, which is slower and does the same.
 *
 * | hook | used for | without it |
 * |---|---|---|
 * | `wsPreEncodedFrame` option of Engine.IO's `write` | one frame for all members of a document | `write` without it |
 * | `ws._sender.sendFrame`, `ws._socket` of an Engine.IO transport | one write for all that a connection gets in one turn | a `write` for each |
 * | an object with `toString` as a packet's data | text for polling members, made only if there is one | a string |
 * | `client.encoder`, `client.decoder`, `client.writeToEngine` | one port for JSON and msgpack clients | required |
 * | `socket.handshake` replaced, `conn.request` dropped once the client is admitted | 1 KB less per connection, and no token in memory | they stay |
 * | `namespace._preConnectSockets` | self-routing connection ids | required |
 */
const CHECKED = { 'socket.io': '4.8.4', 'engine.io': '6.6.11', 'ws': '8.21.3' }

const require = createRequire(import.meta.url)

/**
 * Not every package exports its package.json, so it is looked for above the entry file.
 * @param {string} name
 * @returns {string}
 */
function installedVersion (name) {
  let folder = path.dirname(require.resolve(name))
  while (!folder.endsWith(path.join('node_modules', name))) folder = path.dirname(folder)
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version
}

/**
 * @param {import('../log.js').Log} log
 * @param {(name: string) => string} [versionOf] replaced by tests
 * @returns {boolean} whether Engine.IO takes frames that are made already
 */
export function checkHooks (log, versionOf = installedVersion) {
  const others = Object.entries(CHECKED).map(([name, checked]) => ({ name, checked, found: versionOf(name) })).filter(({ checked, found }) => found !== checked)
  for (const { name, checked, found } of others) log.warn(`${name} ${found} is not the version ${checked} that inkcast was checked with: deliveries take the slower public path`)
  return others.length === 0
}

/**
 * Gives a socket its id before it is connected.
 * @param {import('socket.io').Socket} socket
 * @param {string} id
 */
export function assignId (socket, id) {
  const waiting = /** @type {any} */ (socket.nsp)._preConnectSockets
  waiting.delete(socket.id)
  // `id` is read-only in the types only
  Object.assign(socket, { id })
  waiting.set(id, socket)
}

/**
 * Writes frames to a connection's WebSocket past Engine.IO's queue, if nothing is before them: then the order is the
 * same, and the kernel took everything that was written so far.
 * @param {any} conn Engine.IO's socket
 * @param {Buffer} frames one or more whole WebSocket frames
 * @returns {boolean} false: nothing was written
 */
export function writeFrames (conn, frames) {
  const { transport } = conn
  if (transport.name !== 'websocket' || !transport.writable || conn.upgrading || conn.writeBuffer.length > 0) return false
  const ws = transport.socket
  if (ws.readyState !== 1 || ws._socket.writableLength > 0) return false
  ws._sender.sendFrame([frames])
  return true
}

/** What extensions find in the place of a handshake. */
const FORGOTTEN = Object.freeze({ headers: Object.freeze({}), query: Object.freeze({}), auth: Object.freeze({}) })

/**
 * Drops what was only needed to admit a client: its request, and the handshake with its token.
 * https://socket.io/docs/v4/memory-usage/
 * @param {any} socket Socket.IO's
 */
export function forgetHandshake (socket) {
  socket.handshake = FORGOTTEN
  socket.conn.request = null
}

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Socket } from 'socket.io'
import { systemClock } from '../common/clock.js'
import { addressOf } from '../engine/peer-address.js'

/* eslint-disable @stylistic/max-len -- a table */
/**
 * Every private hook of Socket.IO, Engine.IO and ws that inkcast uses, with the versions it was checked against, and
 * those of the msgpack decoder that wire/msgpack.js knows the limits of. The self-test at the start (self-test.js) uses
 * each of them; if one does not do what it is for, none is used and the public path is taken, which is slower and does
 * the same.
 *
 * | hook | used for | without it |
 * |---|---|---|
 * | `wsPreEncodedFrame` option of Engine.IO's `write` | one frame for all members of a document | `write` without it |
 * | `engine.clientsCount`, `middlewares` | sessions that begin with a WebSocket are ours (websocket/engine-socket.js) | Engine.IO's |
 * | `ws._sender.sendFrame`, `ws._socket` of an Engine.IO transport | one write for all that a connection gets in one turn | a `write` for each |
 * | `_handle.writeQueueSize` of a net.Socket | who takes a large frame bit by bit does take something (backlog.js) | whole frames count |
 * | `completeUpgrade` of ws's server; `decompress`, `params`, `_inflate` of its permessage-deflate | one compressed frame for all (compression.js) | none is compressed |
 * | an object with `toString` as a packet's data | text for polling members, made only if there is one | a string |
 * | `client.encoder`, `client.decoder`, `client.writeToEngine` | one port for JSON and msgpack clients, acknowledgements of receipts | required |
 * | `Socket.prototype.buildHandshake` replaced, `_peername` of a net.Socket | no system call for an address and no date for people, which mostly nobody reads | they are made |
 * | `_events`, `_eventsCount` of emitters, what Engine.IO, Socket.IO and ws listen with, `conn.cleanupFn` | listeners shared by all connections (slim.js) | each has its own |
 * | `socket.acks`, `socket._anyListeners`, `client.sockets`, `client.nsps`, `decoder._callbacks`, `ws._receiver._mask` | no Map and no array that is larger than needed | they are |
 * | `socket.handshake` replaced, `conn.request` dropped once the client is admitted | 1 KB less per connection, and no token in memory | they stay |
 * | `base64id.generateId` replaced | no random bytes for ids that are replaced before anybody sees them | they are made |
| `namespace._preConnectSockets` | self-routing connection ids | required |
 * | `createTransport` of Engine.IO's server, `setSocket` of ws, `_receiver` | frames and parts of messages count (websocket/server.js) | ws's own bounds for each connection |
 * | `onDataRequest`, `dataReq`, `dataRes`, `closeTimeout`, `maxHttpBufferSize` of Engine.IO's polling | parts of bodies count (poll-body.js) | each request is bounded by itself |
 * | `_connections` of a net.Server, `_server` of a net.Socket | how many connections there are (connection-limits.js) | they are not bounded |
 * | `conn.pingIntervalTimer` emptied, `sendPacket`, `onClose`, `transport.discard`, `transport.socket` | one heartbeat for all connections | Engine.IO's, with `HEARTBEAT_MAX` |
 */
/* eslint-enable @stylistic/max-len */
const CHECKED = {
  'socket.io': '4.8.4',
  'engine.io': '6.6.11',
  ws: '8.21.3',
  'socket.io-msgpack-parser': '3.0.2',
  'notepack.io': '2.2.0'
}

const require = createRequire(import.meta.url)
/** There may be several versions of it: ours is the parser's. */
const requireOf = { 'notepack.io': createRequire(require.resolve('socket.io-msgpack-parser')) }

/**
 * Not every package exports its package.json, so it is looked for above the entry file.
 * @param {string} name
 * @returns {string}
 */
function installedVersion (name) {
  let folder = path.dirname((requireOf[/** @type {keyof typeof requireOf} */ (name)] ?? require).resolve(name))
  while (!folder.endsWith(path.join('node_modules', name))) folder = path.dirname(folder)
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version
}

/** @returns {string[]} the libraries that are installed in another version than the hooks were checked with */
export function versionsNotChecked () {
  return Object.entries(CHECKED)
    .map(([name, checked]) => ({ name, checked, found: installedVersion(name) }))
    .filter(({ checked, found }) => found !== checked)
    .map(({ name, checked, found }) => `${name} ${found} in place of ${checked}`)
}

/**
 * `socket.handshake` as documented (https://socket.io/docs/v4/server-socket-instance/#sockethandshake), made as it is
 * read.
 */
class Handshake {
  #socket
  #issued = systemClock.now()

  /** @param {any} socket Socket.IO's @param {unknown} auth */
  constructor (socket, auth) {
    this.#socket = socket
    this.auth = auth
  }

  get #request () { return this.#socket.request }
  get headers () { return this.#request?.headers ?? {} }
  get query () { return this.#request?._query ?? {} }
  get url () { return this.#request?.url }
  get xdomain () { return this.headers.origin !== undefined }
  get secure () { return this.#request?.socket.encrypted === true }
  get issued () { return this.#issued }
  get time () { return String(new Date(this.#issued)) }
  get address () {
    const address = addressOf(this.#request?.socket)
    return this.#socket.conn.remoteAddress ?? address
  }
}

/** @this {any} Socket.IO's socket @param {unknown} auth */
function buildHandshake (auth) { return new Handshake(this, auth) }

const socketPrototype = /** @type {any} */ (Socket.prototype)
const { base64id } = createRequire(require.resolve('socket.io'))('./contrib/base64id.js')
const stock = { buildHandshake: socketPrototype.buildHandshake }
let counted = 0

/** Handshakes cost what is read of them. */
export function lightenHandshakes () {
  socketPrototype.buildHandshake = buildHandshake
  // none of these ids reaches a client: who is admitted gets one of ours (assignId)
  base64id.generateId = () => String(counted++)
}

/** Takes back what was replaced in the libraries. */
export function useStock () {
  Object.assign(socketPrototype, stock)
  delete base64id.generateId
  // makeAcksLazily's
  delete socketPrototype.acks
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

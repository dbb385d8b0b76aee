import net from 'node:net'
import { leavePort, stopListening } from '../base/process/leave-port.js'
import { systemHost } from '../base/process/host.js'
import { BACKLOG, listen } from '../base/process/listen.js'

/** @typedef {import('net').Server} Server of HTTP, or of another protocol */
/** @typedef {Pick<import('../base/process/host.js').Host, 'onMessage' | 'send' | 'exit'>} Launcher */

/**
 * @typedef {object} Address
 * @property {string} host
 * @property {number} port
 * @property {string} [name] of the listener; absent: HOST and PORT
 *
 * A port at which a gateway accepts connections.
 * @typedef {object} PublicPort
 * @property {(server: Server) => Promise<void>} open starts listening
 * @property {(server: Server) => void} pause stops listening for a time; open connections stay
 * @property {(server: Server) => Promise<void>} resume after `pause`; neither is called before it has resolved
 * @property {typeof leavePort} leave
 * @property {(server: Server) => number} connections number of open ones, over all listening sockets
 */

/**
 * Node's count of open connections per server; the public `getConnections` is asynchronous.
 * @param {any} server
 * @returns {number}
 */
const countOf = (server) => server._connections

/**
 * A port that node:cluster may share with other workers.
 * @param {Address} address
 * @returns {PublicPort}
 */
export function createPublicPort ({ host, port }) {
  let leaving = false
  return {
    open: (server) => listen(server, { host, port }, BACKLOG),
    pause (server) { if (!leaving && server.listening) stopListening(server) },
    async resume (server) { if (!leaving) await listen(server, { host, port }, BACKLOG) },
    leave (server, onEnd) {
      leaving = true
      return leavePort(server, onEnd)
    },
    connections: countOf
  }
}

/**
 * Descriptors of the listening socket per worker. libuv accepts one connection per descriptor and turn of the event
 * loop, and a turn that writes to thousands of clients takes tens of ms.
 */
const DESCRIPTORS = 8

/**
 * The socket of this worker's slot. The launcher keeps the socket open, so connections in its queue survive the worker.
 * While another slot has no worker, this one also accepts at that slot's socket (stand-in).
 * Why: docs/internals/decisions/0004-accept-and-hang.md
 *
 * @param {Pick<Address, 'port' | 'name'>} address
 * @param {Launcher} [launcher]
 * @returns {PublicPort}
 */
export function createSlotPort ({ port, name }, launcher = systemHost) {
  let leaving = false
  /** @type {Map<number, net.Server>} */
  const standIns = new Map()
  /** Servers on the other descriptors of this slot's socket. @type {net.Server[]} */
  const others = []
  /** Servers that accept connections or have open ones. @type {Set<net.Server>} */
  const open = new Set()

  /** @param {net.Server} server @param {any} handle @returns {Promise<void>} */
  function listenAt (server, handle) {
    if (!open.has(server)) server.once('close', () => { if (!server.listening) open.delete(server) })
    open.add(server)
    return listen(server, { _handle: handle }, BACKLOG)
  }

  /** Listens at the socket of this slot. @param {Server} server */
  async function listenAtSlot (server) {
    const socket = await askForSocket(launcher, name)
    if (leaving) return socket.close()
    // Node does not know the port of a handle
    await listenAt(server, socket).catch((error) => { throw Object.assign(error, { port }) })
    while (others.length < DESCRIPTORS - 1 && !leaving) {
      const handle = await askForSocket(launcher, name)
      if (leaving) return handle.close()
      const other = passingOn(server)
      others.push(other)
      await listenAt(other, handle)
    }
  }

  /** @param {Server} server @returns {net.Server} passes its connections to `server` */
  const passingOn = (server) =>
    net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))

  return {
    async open (server) {
      await listenAtSlot(server)
      launcher.onMessage((message, handle) => {
        if (message?.listener !== name) return
        if (message?.type === 'stand-down') {
          standIns.get(message.slot)?.close()
          standIns.delete(message.slot)
        } else if (message?.type === 'stand-in' && handle) {
          // the launcher learns that this worker leaves, and asks another one
          if (leaving) return handle.close()
          const standIn = passingOn(server)
          standIns.set(message.slot, standIn)
          // the launcher asks another worker when this one ends, and clients retry
          listenAt(standIn, handle).catch(() => standIn.close())
        }
      })
    },

    pause (server) {
      for (const one of [server, ...others.splice(0)]) if (one.listening) stopListening(one)
    },

    async resume (server) { if (!leaving) await listenAtSlot(server) },

    connections (server) {
      let count = open.has(server) ? 0 : countOf(server)
      for (const one of open) count += countOf(one)
      return count
    },

    async leave (server, onEnd) {
      leaving = true
      launcher.send({ type: 'leaving' })
      // the server may have received no socket
      open.add(server)
      for (const one of open) {
        one.once('close', () => {
          open.delete(one)
          if (open.size === 0) onEnd?.()
        })
      }
      for (const other of [...others, ...standIns.values()]) other.close()
      await leavePort(server)
    }
  }
}

/** @param {Launcher} launcher @param {string | undefined} listener @returns {Promise<any>} native handle */
function askForSocket (launcher, listener) {
  return new Promise((resolve, reject) => {
    const forget = launcher.onMessage((message, handle) => {
      if (message?.type !== 'socket' || message.listener !== listener) return
      forget()
      if (handle) resolve(handle)
      else reject(Object.assign(new Error(), message.error))
    })
    launcher.send({ type: 'listen', listener })
  })
}

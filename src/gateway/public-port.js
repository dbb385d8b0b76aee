import net from 'node:net'
import { leavePort } from '../process/leave-port.js'
import { BACKLOG, listen } from '../process/listen.js'

/** @typedef {import('http').Server | import('https').Server} Server */

/**
 * Where a gateway's connections come in.
 * @typedef {object} PublicPort
 * @property {(server: Server) => Promise<void>} open listens
 * @property {typeof leavePort} leave
 * @property {(server: Server) => number} connections that are open, whichever socket they came in through
 */

/**
 * Node counts what each server has accepted and not closed yet, but tells it only later (`getConnections`).
 * @param {any} server
 * @returns {number}
 */
const countOf = (server) => server._connections

/**
 * A port, which node:cluster may share with other workers.
 * @param {{ host: string, port: number }} address
 * @returns {PublicPort}
 */
export const createPublicPort = ({ host, port }) => ({
  open: (server) => listen(server, { host, port }, BACKLOG),
  leave: leavePort,
  connections: countOf
})

/**
 * libuv accepts one connection per descriptor and turn of the event loop; a turn in which thousands of clients are
 * written to takes tens of ms. So many descriptors of its socket a worker has.
 */
const DESCRIPTORS = 8

/**
 * The socket of our slot, which the launcher keeps: what waits there when we end is not lost. While nobody serves
 * another slot, we stand in at its socket as well.
 * Why: docs/decisions/0004-direct-accept.md
 *
 * @param {{ port: number }} settings
 * @returns {PublicPort}
 */
export function createSlotPort ({ port }) {
  let leaving = false
  /** @type {Map<number, net.Server>} */
  const standIns = new Map()
  /** Those of our own socket, besides the first. @type {net.Server[]} */
  const others = []
  /** Servers that take connections, or have some that have not ended. @type {Set<net.Server>} */
  const open = new Set()

  /** @param {net.Server} server @param {any} handle @returns {Promise<void>} */
  function listenAt (server, handle) {
    open.add(server)
    server.once('close', () => open.delete(server))
    return listen(server, { _handle: handle }, BACKLOG)
  }

  /** @param {Server} server @returns {net.Server} that passes its connections on to it */
  const passingOn = (server) =>
    net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))

  return {
    async open (server) {
      const socket = await askForSocket()
      // Node does not know the port of a handle
      await listenAt(server, socket).catch((error) => { throw Object.assign(error, { port }) })
      while (others.length < DESCRIPTORS - 1 && !leaving) {
        const handle = await askForSocket()
        const other = passingOn(server)
        others.push(other)
        await listenAt(other, handle)
      }

      process.on('message', (/** @type {any} */ message, /** @type {any} */ handle) => {
        if (message?.type === 'stand-down') {
          standIns.get(message.slot)?.close()
          standIns.delete(message.slot)
        } else if (message?.type === 'stand-in' && handle) {
          // the launcher hears that we leave, and asks another one
          if (leaving) return handle.close()
          const standIn = passingOn(server)
          standIns.set(message.slot, standIn)
          // somebody else will be asked when we end, and clients try again
          listenAt(standIn, handle).catch(() => standIn.close())
        }
      })
    },

    connections (server) {
      let count = open.has(server) ? 0 : countOf(server)
      for (const one of open) count += countOf(one)
      return count
    },

    async leave (server, onEnd) {
      leaving = true
      tell({ type: 'leaving' })
      // it may have got no socket
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

/** @param {object} message to the launcher */
function tell (message) {
  // that it has gone is noticed elsewhere
  process.send?.(message, undefined, undefined, () => {})
}

/** @returns {Promise<any>} native handle */
function askForSocket () {
  return new Promise((resolve, reject) => {
    const answer = (/** @type {any} */ message, /** @type {any} */ handle) => {
      if (message?.type !== 'socket') return
      process.off('message', answer)
      if (handle) resolve(handle)
      else reject(Object.assign(new Error(), message.error))
    }
    process.on('message', answer)
    tell({ type: 'listen' })
  })
}

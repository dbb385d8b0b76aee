import net from 'node:net'
import { mayHook } from '../common/hook-switch.js'

/**
 * Passing an open connection on to another worker of the same launcher, with the request that has been read from it
 * already: afterwards nothing of it is left here, unlike with forwarding.
 *
 * The native handle is what is passed. Passing the net.Socket loses the bytes that arrive meanwhile, because Node
 * goes on reading until the other process has it.
 */

/**
 * @param {object} options
 * @param {number} options.to worker number
 * @param {string} options.head of the request, as it came
 * @param {Buffer} options.rest what was read after it
 * @param {net.Socket} options.socket
 * @returns {boolean} false: this socket cannot be passed on (TLS); nothing has happened to it
 */
export function handOver ({ to, head, rest, socket }) {
  const handle = /** @type {any} */ (socket)._handle
  if (
    !mayHook('node') ||
    process.send === undefined ||
    !process.connected ||
    !handle ||
    typeof handle.readStop !== 'function' ||
    /** @type {any} */ (socket).encrypted
  )
    return false
  handle.readStop()
  const internals = /** @type {any} */ (socket)
  internals._handle = null
  // what has arrived since the request; without a handle this starts no reading
  for (let chunk; (chunk = socket.read()) !== null;) rest = Buffer.concat([rest, chunk])
  // what is left of the socket must neither wait for data nor be destroyed with the handle
  socket.removeAllListeners()
  socket.on('error', () => {})
  internals.destroy()
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), rest]).toString('base64')
  process.send({ type: 'handover', to, bytes }, handle, {}, () => handle.close())
  return true
}

/**
 * Takes over what other workers pass on.
 * @param {import('http').Server} server whose connection it becomes
 * @returns {() => void} stops taking
 */
export function acceptHandovers (server) {
  /** @param {any} message @param {any} handle */
  const take = (message, handle) => {
    if (message?.type !== 'handover' || !handle) return
    const socket = new net.Socket(/** @type {any} */ ({ handle, readable: true, writable: true }))
    server.emit('connection', socket)
    socket.emit('data', Buffer.from(message.bytes, 'base64'))
    socket.resume()
  }
  process.on('message', take)
  return () => { process.off('message', take) }
}

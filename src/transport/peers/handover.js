import net from 'node:net'

/**
 * Hands an open connection over to another worker of the same launcher, with the request that was read from it. Unlike
 * forwarding, this leaves nothing of the connection here.
 *
 * The native handle is passed. Passing the net.Socket would lose the bytes that arrive meanwhile, because Node
 * continues reading until the other process has it.
 */

/**
 * @param {object} options
 * @param {number} options.to worker number
 * @param {string} options.head of the request, unchanged
 * @param {Buffer} options.rest bytes read after it
 * @param {net.Socket} options.socket
 * @returns {boolean} false: this socket cannot be handed over (TLS); it is unchanged
 */
export function handOver ({ to, head, rest, socket }) {
  const handle = /** @type {any} */ (socket)._handle
  if (
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
  // Bytes that arrived since the request; without a handle this starts no reading.
  for (let chunk; (chunk = socket.read()) !== null;) rest = Buffer.concat([rest, chunk])
  // The rest of the socket must neither wait for data nor destroy the handle.
  // not `close`: limits count until then
  for (const event of ['data', 'readable', 'end', 'error', 'timeout', 'drain']) socket.removeAllListeners(event)
  socket.on('error', () => {})
  internals.destroy()
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), rest]).toString('base64')
  process.send({ type: 'handover', to, bytes }, handle, {}, () => handle.close())
  return true
}

/**
 * Accepts connections from other workers.
 * @param {import('net').Server} server of HTTP that gets the connections
 */
export function createHandovers (server) {
  /** @param {any} message @param {any} handle */
  const take = (message, handle) => {
    if (message?.type !== 'handover' || !handle) return
    const socket = new net.Socket(/** @type {any} */ ({ handle, readable: true, writable: true }))
    server.emit('connection', socket)
    socket.emit('data', Buffer.from(message.bytes, 'base64'))
    socket.resume()
  }
  return {
    start: () => { process.on('message', take) },
    stop: () => { process.off('message', take) }
  }
}

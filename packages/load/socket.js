/**
 * A bare TCP or TLS socket, for processes with very many clients.
 */
import net from 'node:net'
import tls from 'node:tls'

/** Read buffer shared by all TCP sockets of a process: each read is processed before the next one. */
export const READ_BUFFER = Buffer.alloc(2 ** 18)

/**
 * @param {import('./websocket.js').Target} target
 * @param {string | undefined} source local address
 * @param {object} listeners
 * @param {() => void} listeners.onConnect
 * @param {(chunk: Buffer) => boolean} listeners.onData the chunk is valid during the call only; returns whether to
 *   go on reading
 * @param {(reason: string) => void} listeners.onEnd may be called more than once
 * @returns {net.Socket}
 */
export function openSocket ({ host, port, secure, insecure }, source, { onConnect, onData, onEnd }) {
  const address = { host, port, localAddress: source }
  const socket = secure
    ? tls.connect({ ...address, servername: net.isIP(host) ? undefined : host, rejectUnauthorized: !insecure })
    : net.connect({
        ...address,
        noDelay: true,
        onread: {
          buffer: READ_BUFFER,
          callback: (length, buffer) => onData(/** @type {Buffer} */ (buffer).subarray(0, length))
        }
      })
  if (secure) socket.on('data', onData)
  socket.once(secure ? 'secureConnect' : 'connect', onConnect)
  socket.on('error', (error) => onEnd(/** @type {NodeJS.ErrnoException} */ (error).code ?? error.message))
  socket.on('close', () => onEnd('closed by the server'))
  return socket
}

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Connection handling of a proxy: opens a connection to the server for each client connection, and closes both when
 * either ends. The caller transfers the data.
 *
 * @param {number | (() => number)} port of the server, on the loopback interface; a function is called for each
 *   connection
 * @param {(client: import('node:net').Socket, upstream: import('node:net').Socket) => (() => void) | void} onPair
 *   returns a function to call when the pair ends
 */
export async function startRelay (port, onPair) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer((client) => {
    const upstream = connect(typeof port === 'number' ? port : port(), '127.0.0.1')
    const end = onPair(client, upstream)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        end?.()
        client.destroy()
        upstream.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    async stop () {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

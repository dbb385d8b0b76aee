import { createServer, connect } from 'node:net'
import { once } from 'node:events'

/**
 * A TCP proxy that can lose what the server answers, as a network that breaks at the wrong moment does.
 *
 * @param {number} port of the server, on the loopback interface
 */
export async function startProxy (port) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let losing = false

  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => {
      if (losing) client.destroy() // the server has done its work, and nobody hears of it
      else client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    /** The next answer of the server, and with it its connection, is lost. */
    loseAnswers () { losing = true },
    heal () { losing = false },
    async stop () {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

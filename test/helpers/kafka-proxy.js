import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Kafka's number of the request that a consumer gets its records with. */
const FETCH = 1

/**
 * A proxy in front of a broker that can swallow what the broker answers to fetches, and nothing else: heartbeats and
 * commits go on.
 *
 * @param {number} port of the broker, on the loopback interface
 */
export async function startKafkaProxy (port) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  /** @type {{ wedged: boolean }[]} */
  const connections = []
  let wedging = false
  let swallowed = 0

  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    const state = { wedged: wedging }
    connections.push(state)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    /** @type {Set<number>} correlation ids of fetches that are under way */
    const fetches = new Set()
    framed(client, (frame) => {
      if (frame.readInt16BE(4) === FETCH) fetches.add(frame.readInt32BE(8))
      upstream.write(frame)
    })
    framed(upstream, (frame) => {
      if (fetches.delete(frame.readInt32BE(4)) && state.wedged) swallowed++
      else client.write(frame)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    get swallowed () { return swallowed },

    /** Connections that there are, and those that come until `spareNew`, get no answer to a fetch any more. */
    wedge () {
      wedging = true
      for (const state of connections) state.wedged = true
    },
    spareNew () { wedging = false },

    async stop () {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

/**
 * @param {import('node:net').Socket} socket
 * @param {(frame: Buffer) => void} onFrame a request or an answer, with its length
 */
function framed (socket, onFrame) {
  let buffered = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    while (buffered.length >= 4) {
      const end = 4 + buffered.readInt32BE(0)
      if (buffered.length < end) break
      onFrame(buffered.subarray(0, end))
      buffered = buffered.subarray(end)
    }
  })
}

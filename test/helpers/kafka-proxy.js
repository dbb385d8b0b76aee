import { startRelay } from './relay.js'

/** Kafka's API key of a consumer's fetch request. */
const FETCH = 1

/**
 * A proxy in front of a broker that can swallow fetch responses only: heartbeats and commits still work.
 *
 * @param {number} port of the broker, on the loopback interface
 */
export async function startKafkaProxy (port) {
  /** @type {{ wedged: boolean }[]} */
  const connections = []
  let wedging = false
  let swallowed = 0

  const { port: own, stop } = await startRelay(port, (client, upstream) => {
    const state = { wedged: wedging }
    connections.push(state)
    /** @type {Set<number>} correlation ids of pending fetches */
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

  return {
    port: own,
    stop,
    get swallowed () { return swallowed },

    /** Swallows fetch responses on existing connections, and on new ones until `spareNew`. */
    wedge () {
      wedging = true
      for (const state of connections) state.wedged = true
    },
    spareNew () { wedging = false }
  }
}

/**
 * @param {import('node:net').Socket} socket
 * @param {(frame: Buffer) => void} onFrame a request or response, with its length prefix
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

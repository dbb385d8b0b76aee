import { World } from '../../../simulation/world/world.js'

/**
 * A world with a server that keeps what it accepts, and a client that has connected to it.
 *
 * @param {number} [seed]
 * @param {{ checked?: boolean }} [options]
 */
export function twoProcesses (seed = 1, options) {
  const world = new World(seed, options)
  const server = world.process('server', { name: 'm1', step: 0 })
  const client = world.process('client', { name: 'm2', step: 0 })
  /** @type {import('../../../simulation/world/sim-socket.js').SimSocket[]} */
  const accepted = []
  /** Bytes that the server has read of its first connection, and how it ended. */
  const got = { text: '', ended: false, closed: false, error: '' }
  world.network.listen(server, 'm1:80', (socket) => {
    accepted.push(socket)
    observe(socket, got)
  }, { allowHalfOpen: true })
  const connect = () => world.network.connect(client, 'm1:80')
  return { world, server, client, accepted, got, connect }
}

/**
 * @param {import('../../../simulation/world/sim-socket.js').SimSocket} socket
 * @param {{ text: string, ended: boolean, closed: boolean, error: string }} got
 */
export function observe (socket, got) {
  socket.on('data', (bytes) => { got.text += bytes })
  socket.on('end', () => { got.ended = true })
  socket.on('error', (/** @type {any} */ error) => { got.error = error.code })
  socket.on('close', () => { got.closed = true })
}

/**
 * Free ports on the loopback interface for servers that need a port number and can't report the one they got.
 */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

// Below the range for outgoing connections (from 32768 on Linux, 49152 on macOS and Windows): a client that retries
// while its server is down could otherwise get the server's own port and connect to itself, and a restarting server
// could find its port in use.
const FIRST = 20_000
const LAST = 32_000

/**
 * Finds a free port. No other test gets it until this process ends, also while its server does not listen: before its
 * start, or during a restart.
 * @returns {Promise<number>}
 */
export async function freePort () {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(FIRST, LAST)
    if (await hold(port) && await isFree(port)) return port
  }
  throw new Error(`no free port found between ${FIRST} and ${LAST}`)
}

/**
 * Holds the number for this process, by the UDP port that nothing else uses: the system lets go of it even if this
 * process is killed.
 * @param {number} port
 * @returns {Promise<boolean>} false: another test holds it
 */
function hold (port) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      resolve(true)
    })
  })
}

/**
 * @param {number} count
 * @returns {Promise<number[]>} different ports
 */
export async function freePorts (count) {
  /** @type {number[]} */
  const ports = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isFree (port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

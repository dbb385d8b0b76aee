/**
 * Free ports on the loopback interface for servers that need a port number and can't report the one they got.
 */
import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

// Below the range for outgoing connections (from 32768 on Linux, 49152 on macOS and Windows): a client that retries
// while its server is down could otherwise get the server's own port and connect to itself, and a restarting server
// could find its port in use.
const FIRST = 20_000
const LAST = 32_000

/**
 * Finds a port that is free at the moment. Another process may take it before it is used; then the caller retries with
 * another port.
 * @returns {Promise<number>}
 */
export async function freePort () {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(FIRST, LAST)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port found between ${FIRST} and ${LAST}`)
}

/**
 * @param {number} count
 * @returns {Promise<number[]>} different ports
 */
export async function freePorts (count) {
  /** @type {Set<number>} */
  const ports = new Set()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
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

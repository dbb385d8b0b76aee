import http from 'node:http'
import { rm } from 'node:fs/promises'
import { listen } from '../process/listen.js'
import { endSockets, serverOptions, TIMES } from '../process/socket-times.js'

/**
 * The unix socket on which the processes of one machine talk to each other: the launcher asks for the status, and
 * other gateway workers forward requests of our sessions. Only this machine's same user can open it: its directory
 * is private.
 *
 * @param {object} dependencies
 * @param {string} dependencies.path of the socket
 * @param {ReturnType<typeof import('./status.js').createStatus>} dependencies.status
 * @param {(server: http.Server, fallback: http.RequestListener) => void} [dependencies.serve] what else is served there
 * @param {import('../process/socket-times.js').Times} [dependencies.times]
 */
export function createPrivateListener ({ path, status, serve, times = TIMES }) {
  /** @type {http.RequestListener} */
  const answer = (req, res) => {
    if (req.url !== '/status') return void res.writeHead(404).end()
    status.read().then(
      (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
      () => res.writeHead(500).end()
    )
  }
  // other workers keep their connections for 30 s
  const server = http.createServer(serverOptions(times))
  endSockets(server, times)
  if (serve) serve(server, answer)
  else server.on('request', answer)

  return {
    async start () {
      // left by a killed process; this process has its place now
      await rm(path, { force: true })
      // exclusive: node:cluster would have its primary accept for us
      await listen(server, { path, exclusive: true })
    },
    async stop () {
      server.close()
      server.closeAllConnections()
      await rm(path, { force: true })
    }
  }
}

/**
 * Asks a process on this machine for its status.
 * @param {string} path
 * @param {number} timeout ms
 * @returns {Promise<import('./status.js').ProcessStatus>}
 */
export function readStatus (path, timeout) {
  return new Promise((resolve, reject) => {
    const req = http.get({ socketPath: path, path: '/status', timeout, agent: false }, (res) => {
      /** @type {Buffer[]} */
      const chunks = []
      res.on('data', (chunk) => chunks.push(chunk))
      res.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()))
        } catch (error) {
          reject(error)
        }
      })
      res.on('error', reject)
    })
    req.on('timeout', () => req.destroy(new Error(`no answer within ${timeout} ms`)))
    req.on('error', reject)
  })
}

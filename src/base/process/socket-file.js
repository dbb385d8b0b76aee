import { rm } from 'node:fs/promises'
import { listen } from './listen.js'

/**
 * Opens an HTTP server on a unix socket that belongs to this process alone.
 *
 * @param {import('node:http').Server} server
 * @param {string} path of the socket
 */
export function onSocketFile (server, path) {
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

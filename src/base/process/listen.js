/**
 * Maximum connections in the queue of a listening socket, for clients that reconnect all at once; the kernel's limit
 * (net.core.somaxconn) applies as well.
 */
export const BACKLOG = 4096

/**
 * Starts a server.
 *
 * @param {import('node:net').Server} server
 * @param {import('node:net').ListenOptions & { _handle?: unknown }} options `exclusive` in a cluster's worker: a port
 *   of its own, which node:cluster would otherwise share between all workers
 * @param {number} [backlog] maximum connections in the queue; default: Node's 511
 * @returns {Promise<void>} rejects with the server's error, such as EADDRINUSE
 */
export function listen (server, options, backlog) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, /** @type {any} */ (backlog), () => {
      server.off('error', reject)
      resolve()
    })
  })
}

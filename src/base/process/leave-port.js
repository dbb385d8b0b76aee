import cluster from 'node:cluster'
import net from 'node:net'

/**
 * Keeps the open connections: http's own method closes idle ones.
 * @param {net.Server} server
 * @param {() => void} [onEnd] called when the last connection has ended
 */
export function stopListening (server, onEnd) {
  net.Server.prototype.close.call(server, onEnd)
}

/**
 * Stops accepting connections and keeps the open ones, even idle ones: a request may be on its way.
 *
 * Where node:cluster's primary accepts for its workers (PM2's daemon does), it passes connections to this process until
 * it knows of the stop; a connection on its way when this process exits would hang until its client gives up. Node does
 * not report when the primary knows, but the primary answers in order: so send it a request.
 *
 * @param {net.Server} server
 * @param {() => void} [onEnd] called when the last connection has ended
 * @returns {Promise<void>} resolves when no further connection can arrive
 */
export async function leavePort (server, onEnd = () => {}) {
  stopListening(server, onEnd)
  if (!cluster.isWorker || !process.connected) return
  const question = net.createServer()
  await new Promise((resolve) => {
    question.once('error', resolve)
    process.once('disconnect', resolve)
    question.listen({ host: '127.0.0.1', port: 0 }, () => resolve(undefined))
  })
  question.close()
}

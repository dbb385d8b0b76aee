import cluster from 'node:cluster'
import net from 'node:net'

/**
 * Takes no more connections, and leaves those there are alone, also those that are idle: a request may be on its way.
 *
 * Where node:cluster's primary accepts for its workers (PM2's daemon does), it goes on handing connections to us until
 * it has heard of this; one that is on its way when we exit would hang until its client gives up. Node tells nobody
 * when the primary has heard, but it answers in order: so we ask it something.
 *
 * @param {import('http').Server | import('https').Server} server
 * @param {() => void} [onEnd] called when the last connection has ended
 * @returns {Promise<void>} resolves when no more will come
 */
export async function leavePort (server, onEnd = () => {}) {
  // not http's own, which cuts idle connections
  net.Server.prototype.close.call(server, onEnd)
  if (!cluster.isWorker || !process.connected) return
  const question = net.createServer()
  await new Promise((resolve) => {
    question.once('error', resolve)
    process.once('disconnect', resolve)
    question.listen({ host: '127.0.0.1', port: 0 }, () => resolve(undefined))
  })
  question.close()
}

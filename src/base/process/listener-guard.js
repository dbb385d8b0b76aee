import { LogLimit } from '../common/log-limit.js'
import { PipelineLimit } from './pipelined.js'
import { endSocket, responseOf } from './socket-times.js'

/**
 * Keeps errors of a server's listeners inside the listener. A throw in a listener is an uncaught exception, and a
 * request that causes one would end the process for all clients. Every listener of every port is guarded.
 *
 * @typedef {ReturnType<typeof createListenerGuard>} ListenerGuard
 *
 * @param {object} dependencies
 * @param {string} dependencies.name of the listener, for the log
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {Pick<import('../common/clock.js').Clock, 'monotonic' | 'timer' | 'soon'>} dependencies.clock
 */
export function createListenerGuard ({ name, log, clock }) {
  const limit = new LogLimit({ clock })
  const pipelines = new PipelineLimit(clock)

  /**
   * @template {unknown[]} Args
   * @param {(...args: Args) => unknown} listener may return a promise
   * @param {(...args: Args) => void} giveUp ends what the listener has left
   * @returns {(...args: Args) => void} it never throws
   */
  const guard = (listener, giveUp) => (...args) => {
    const failed = (/** @type {unknown} */ error) => {
      // a client can repeat it as often as it likes
      if (limit.due()) log.error({ err: error, listener: name }, 'a request failed; similar lines are left out for a minute')
      giveUp(...args)
    }
    try {
      const result = listener(...args)
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  return {
    /**
     * @param {import('node:http').RequestListener} listener answers 500 if it throws or rejects. It gets no more
     *   than `MAX_PIPELINED` requests of a connection at a time
     * @returns {import('node:http').RequestListener} for a server with `serverOptions`
     */
    request (listener) {
      const guarded = guard(listener, fail)
      return (req, res) => {
        if (!pipelines.admits(req, res)) return
        // RFC 9112, 3.2; Node's own check would answer any number of them
        if (req.headers.host === undefined && req.httpVersion === '1.1') res.writeHead(400, { connection: 'close' }).end()
        else guarded(req, res)
      }
    },

    /**
     * @param {(req: import('node:http').IncomingMessage, socket: import('node:stream').Duplex, head: Buffer) =>
     *   unknown} listener answers 500 if it throws or rejects
     */
    upgrade: (listener) => guard(listener, (_req, socket) => endSocket(socket, responseOf(500), clock)),

    /**
     * @param {(socket: import('node:net').Socket, ...args: any[]) => unknown} listener closes the connection if it
     *   throws or rejects
     */
    connection: (listener) => guard(listener, destroy)
  }
}

/** @type {(socket: import('node:net').Socket, ...args: any[]) => void} */
const destroy = (socket) => { socket.destroy() }

/** @type {import('node:http').RequestListener} */
const fail = (_req, res) => {
  if (res.headersSent) res.destroy()
  else res.writeHead(500, { connection: 'close' }).end()
}

import { RELEASE } from '../engine/request.js'
import { CONNECT_TIMEOUT } from './owner-client.js'

/** Requests and WebSockets released at a time while this worker drains. */
const RELEASE_BATCH = 200

/**
 * Polls and WebSockets that this worker forwards to their owners at the moment.
 *
 * @typedef {ReturnType<typeof createForwarded>} Forwarded
 *
 * @typedef {object} Forwarding
 * @property {import('./owner-routes.js').Route} route
 * @property {{ url?: string }} req
 * @property {import('stream').Writable | import('../engine/answer.js').Answer} client
 *
 * @param {import('./owner-client.js').OwnerClient} owners
 */
export function createForwarded (owners) {
  /** @type {Set<Forwarding>} bounded by the number of connections */
  const all = new Set()

  return {
    /** @param {Forwarding} one until its client is gone */
    add (one) {
      all.add(one)
      one.client.once('close', () => all.delete(one))
    },

    /**
     * Asks the owners to release forwarded polls and WebSockets, a batch at each call, because this worker drains. A
     * polling client sends its next poll through another worker and keeps its session; a WebSocket client reconnects.
     */
    release () {
      for (const one of [...all].slice(0, RELEASE_BATCH)) {
        all.delete(one)
        const { route, req, client } = one
        // The poll may reach its owner after this request: then ask again.
        const again = () => { if (!client.destroyed) all.add(one) }
        const headers = owners.proof(route, RELEASE, req.url)
        const options = { method: RELEASE, path: req.url, headers, timeout: CONNECT_TIMEOUT }
        const asked = owners.request(route, options, (answer) => {
          answer.resume()
          if (answer.statusCode !== 204) again()
        })
        asked.on('timeout', () => asked.destroy()).on('error', again).end()
      }
    }
  }
}

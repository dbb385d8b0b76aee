import { randomBytes } from 'node:crypto'
import { echoChannel } from '../redis/keys.js'

/**
 * Sends short texts through pub/sub to whoever they name: the way that records take, for those who want to know
 * whether it is open.
 *
 * @typedef {object} Echo
 * @property {string} id of this one, among all processes
 * @property {(onEcho: (text: string) => void) => void} start
 * @property {(id: string, text: string) => Promise<unknown>} send to the echo with that id, wherever it is. Rejects
 *   when Redis does not take it
 * @property {() => void} stop
 */

/**
 * @param {{ redis: Pick<import('../redis/client.js').RedisConnection, 'channels' | 'client'> }} dependencies
 * @returns {Echo}
 */
export function createRedisEcho ({ redis: { channels, client } }) {
  const id = randomBytes(12).toString('base64url')
  return {
    id,
    // it stays asked for, whatever becomes of this call
    start (onEcho) { channels.subscribe(echoChannel(id), (payload) => onEcho(payload.toString())).catch(() => {}) },
    send: (to, text) => client.spublish(echoChannel(to), text),
    stop: () => channels.unsubscribe(echoChannel(id))
  }
}

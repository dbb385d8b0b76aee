/**
 * Sends short texts to a process through Redis pub/sub, as records are sent, to check that it works.
 *
 * @typedef {object} Echo
 * @property {string} id of this process's echo
 * @property {(onEcho: (text: string) => void) => void} start
 * @property {(id: string, text: string) => Promise<unknown>} send to the echo with that id. Rejects when Redis does
 *   not accept it
 * @property {() => void} stop
 */

/**
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'channels' | 'client' | 'keys'>} dependencies.redis
 * @param {Pick<import('../base/common/random.js').Random, 'bytes'>} dependencies.random
 * @returns {Echo}
 */
export function createRedisEcho ({ redis: { channels, client, keys }, random }) {
  const id = random.bytes(12).toString('base64url')
  return {
    id,
    // the subscription is repeated even if this call fails
    start (onEcho) {
      channels.subscribe(keys.echoChannel(id), (payload) => onEcho(payload.toString())).catch(() => {})
    },
    send: (to, text) => client.spublish(keys.echoChannel(to), text),
    stop: () => channels.unsubscribe(keys.echoChannel(id))
  }
}

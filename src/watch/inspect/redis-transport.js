/**
 * The inspector's transport over sharded pub/sub of Redis (contract.js): one channel for announcements, and one for
 * each watch.
 *
 * @param {object} dependencies
 * @param {import('../../redis/client.js').RedisConnection} dependencies.redis
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @returns {import('./contract.js').InspectTransport}
 */
export function createRedisTransport ({ redis, log }) {
  const { client, channels, keys } = redis

  /**
   * @template T
   * @param {(value: T) => void} handle
   * @returns {(payload: Buffer) => void}
   */
  const parsed = (handle) => (payload) => {
    try {
      handle(JSON.parse(payload.toString()))
    } catch (error) {
      log.debug({ err: error }, 'a message of the inspector could not be handled')
    }
  }

  return {
    async start (onWatch) {
      // the start of a process does not wait for it: without Redis there are no watches
      channels.subscribe(keys.watchesChannel, parsed(onWatch)).catch(() => {})
    },
    async stop () { channels.unsubscribe(keys.watchesChannel) },
    async announce (watch) { await client.spublish(keys.watchesChannel, JSON.stringify(watch)) },
    async send (id, batch) { await client.spublish(keys.inspectChannel(id), JSON.stringify(batch)) },
    async follow (id, onBatch) {
      const channel = keys.inspectChannel(id)
      await channels.subscribe(channel, parsed(onBatch))
      return () => channels.unsubscribe(channel)
    }
  }
}

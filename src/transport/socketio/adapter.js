import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { createShardedAdapter } = require('@socket.io/redis-adapter')

/**
 * Shares Socket.IO's rooms between processes, through Redis. Documents do not use them: their records come over the
 * bus. `static` subscribes each worker to two channels per namespace instead of one per room, which would add a
 * subscription to every join (docs/internals/decisions/0002-extensions-and-rooms.md). Servers with a prefix of
 * their own use the library's default, `dynamic`.
 *
 * @param {object} redis
 * @param {any} redis.publisher
 * @param {any} redis.subscriber
 * @param {string} channelPrefix
 * @param {string} start of the channels of inkcast itself: REDIS_PREFIX and a colon
 */
export function createRoomAdapter ({ publisher, subscriber }, channelPrefix, start) {
  const subscriptionMode = channelPrefix.startsWith(start) ? 'static' : 'dynamic'
  const create = createShardedAdapter(publisher, subscriber, { channelPrefix, subscriptionMode })
  // Socket.IO calls it with `new`.
  return function RoomAdapter (/** @type {any} */ namespace) {
    const adapter = create(namespace)
    const { serverCount } = Object.getPrototypeOf(adapter)
    // Callers of the adapter catch no errors: with an unknown number of servers they wait until their timeout.
    adapter.serverCount = () => serverCount.call(adapter).catch(() => Infinity)
    // It subscribes to the channel of a new room but does not wait: `await socket.join()` would resolve before messages
    // of other servers arrive.
    const addAll = adapter.addAll.bind(adapter)
    adapter.addAll = (/** @type {string} */ id, /** @type {Set<string>} */ rooms) => {
      addAll(id, rooms)
      return subscriber.subscribed()
    }
    return adapter
  }
}

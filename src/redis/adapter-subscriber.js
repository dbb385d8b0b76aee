import { EventEmitter } from 'node:events'

/**
 * Stands in for an ioredis client that subscribes, as far as `@socket.io/redis-adapter` 8 needs one.
 *
 * @param {ReturnType<typeof import('./channels.js').createChannels>} channels
 */
export function createAdapterSubscriber (channels) {
  const subscriber = new EventEmitter()
  return Object.assign(subscriber, {
    /**
     * @param {string} channel
     * @returns {Promise<void>} the adapter does not await it: it never rejects, and goes on trying
     */
    async ssubscribe (channel) {
      const name = Buffer.from(channel)
      await channels
        .subscribe(channel, (payload) => {
          subscriber.emit('smessageBuffer', name, payload)
        })
        .catch(() => {})
    },

    /** @param {string | string[]} names @returns {Promise<void>} */
    async sunsubscribe (names) {
      for (const channel of [names].flat()) channels.unsubscribe(channel)
    }
  })
}

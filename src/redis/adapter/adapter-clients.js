import { EventEmitter } from 'node:events'

/**
 * Replacements for ioredis clients, with the parts that `@socket.io/redis-adapter` 8 needs.
 */

/** @param {import('ioredis').Redis | import('ioredis').Cluster} client */
export function createAdapterPublisher (client) {
  /** @param {string[]} command @returns {Promise<any>[]} */
  const toAllNodes = ([name, ...args]) =>
    ('nodes' in client ? client.nodes('all') : [client]).map((node) => node.call(name, ...args))

  return {
    /** @param {string} channel @param {string | Buffer} payload */
    spublish: (channel, payload) => client.spublish(channel, payload),

    /**
     * The number of servers that have subscribed to a channel, added up over all nodes: a node of Redis Cluster counts
     * only its own clients.
     * @param {'PUBSUB'} name
     * @param {string[]} args
     * @param {(error: unknown, answer?: [channel: string, count: number]) => void} callback
     */
    send_command (name, args, callback) {
      Promise.all(toAllNodes([name, ...args])).then(
        (answers) => callback(null, [args[1], answers.reduce((sum, [, count]) => sum + Number(count), 0)]),
        (error) => callback(error)
      )
    }
  }
}

/** @param {import('../channels.js').Channels} channels */
export function createAdapterSubscriber (channels) {
  const subscriber = new EventEmitter()
  /** @type {Set<Promise<void>>} */
  const pending = new Set()
  return Object.assign(subscriber, {
    /**
     * @param {string} channel
     * @returns {Promise<void>} never rejects, because the adapter does not await it; `channels` keeps retrying
     */
    async ssubscribe (channel) {
      const name = Buffer.from(channel)
      const subscribed = channels
        .subscribe(channel, (payload) => {
          subscriber.emit('smessageBuffer', name, payload)
        })
        .catch(() => {})
      pending.add(subscribed)
      await subscribed
      pending.delete(subscribed)
    },

    /** @param {string | string[]} names @returns {Promise<void>} */
    async sunsubscribe (names) {
      for (const channel of [names].flat()) channels.unsubscribe(channel)
    },

    /**
     * @returns {Promise<void> | undefined} resolves when all channels are subscribed, or have failed once; undefined:
     *   none is pending
     */
    subscribed: () => pending.size === 0 ? undefined : Promise.all(pending).then(() => {})
  })
}

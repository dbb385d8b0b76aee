import { Push } from '../resp/replies.js'
import { KINDS } from '../pubsub.js'

/**
 * @typedef {import('./command.js').Command} Command
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('../contract.js').Connection} Connection
 * @typedef {import('../contract.js').Kind} Kind
 */

/** @param {Connection} connection @param {Kind} kind */
const countOf = ({ subscriptions: { channels, patterns, shards } }, kind) =>
  kind === 'shards' ? shards.size : channels.size + patterns.size

/** @param {Kind} kind @returns {Command} */
const subscribe = (kind) => ({
  arity: -2,
  noScript: true,
  subscribed: true,
  run ({ store, connection }, [, ...channels]) {
    const to = /** @type {Connection} */ (connection)
    for (const channel of channels) {
      store.pubsub.subscribe(kind, channel, to)
      to.push(new Push([KINDS[kind].subscribe, channel, countOf(to, kind)]))
    }
  }
})

/** @param {Kind} kind @returns {Command} */
const unsubscribe = (kind) => ({
  arity: -1,
  noScript: true,
  subscribed: true,
  run ({ store, connection }, [, ...channels]) {
    const to = /** @type {Connection} */ (connection)
    const some = channels.length > 0 ? channels : [...to.subscriptions[kind]]
    for (const channel of some) {
      store.pubsub.unsubscribe(kind, channel, to)
      to.push(new Push([KINDS[kind].unsubscribe, channel, countOf(to, kind)]))
    }
    if (some.length === 0) to.push(new Push([KINDS[kind].unsubscribe, null, countOf(to, kind)]))
  }
})

/** @param {Kind} kind @returns {Command} */
const counts = (kind) => ({
  arity: -2,
  run: ({ store }, [, , ...channels]) => channels.flatMap((name) => [name, store.pubsub.count(kind, name)])
})

/** @type {Record<string, Command>} */
export const pubsub = {
  subscribe: subscribe('channels'),
  psubscribe: subscribe('patterns'),
  ssubscribe: subscribe('shards'),
  unsubscribe: unsubscribe('channels'),
  punsubscribe: unsubscribe('patterns'),
  sunsubscribe: unsubscribe('shards'),
  publish: { arity: 3, run: ({ store }, [, channel, message]) => store.pubsub.publish(channel, message) },
  spublish: { arity: 3, run: ({ store }, [, channel, message]) => store.pubsub.publishShard(channel, message) },
  pubsub: {
    arity: -2,
    run () {},
    subcommands: { numsub: counts('channels'), shardnumsub: counts('shards') }
  }
}

import { Push } from './resp/replies.js'
import { matches } from './commands/glob.js'

/**
 * @typedef {import('./contract.js').Connection} Connection
 * @typedef {import('./contract.js').Kind} Kind
 */

/** Names of commands and messages, by what is subscribed. */
export const KINDS = Object.freeze({
  channels: { subscribe: 'subscribe', unsubscribe: 'unsubscribe' },
  patterns: { subscribe: 'psubscribe', unsubscribe: 'punsubscribe' },
  shards: { subscribe: 'ssubscribe', unsubscribe: 'sunsubscribe' }
})

/** Which connection receives which channels. */
export class PubSub {
  /** @type {Record<Kind, Map<string, Set<Connection>>>} */
  #subscribers = { channels: new Map(), patterns: new Map(), shards: new Map() }

  /** @param {Kind} kind @param {string} channel */
  count (kind, channel) { return this.#subscribers[kind].get(channel)?.size ?? 0 }

  /** @param {Kind} kind @param {string} channel @param {Connection} connection */
  subscribe (kind, channel, connection) {
    const all = this.#subscribers[kind]
    const some = all.get(channel)
    if (some) some.add(connection)
    else all.set(channel, new Set([connection]))
    connection.subscriptions[kind].add(channel)
  }

  /** @param {Kind} kind @param {string} channel @param {Connection} connection */
  unsubscribe (kind, channel, connection) {
    const some = this.#subscribers[kind].get(channel)
    if (!some?.delete(connection)) return
    connection.subscriptions[kind].delete(channel)
    if (some.size === 0) this.#subscribers[kind].delete(channel)
  }

  /** @param {Connection} connection that has ended */
  forget (connection) {
    for (const kind of /** @type {Kind[]} */ (Object.keys(KINDS)))
      for (const channel of connection.subscriptions[kind]) this.unsubscribe(kind, channel, connection)
  }

  /** @param {string} channel @param {string} message @returns {number} receivers */
  publish (channel, message) {
    let receivers = this.#send(this.#subscribers.channels.get(channel), ['message', channel, message])
    for (const [pattern, some] of this.#subscribers.patterns)
      if (matches(pattern, channel)) receivers += this.#send(some, ['pmessage', pattern, channel, message])
    return receivers
  }

  /** @param {string} channel @param {string} message @returns {number} receivers */
  publishShard (channel, message) {
    return this.#send(this.#subscribers.shards.get(channel), ['smessage', channel, message])
  }

  /** @param {Set<Connection> | undefined} connections @param {string[]} items */
  #send (connections, items) {
    if (connections === undefined) return 0
    const push = new Push(items)
    for (const connection of connections) connection.push(push)
    return connections.size
  }
}

import { identityOf } from './identity/identity.js'
import { ReconnectingConnection } from './reconnecting-connection.js'
import { ONE_ATTEMPT } from './sentinel/options.js'

/**
 * @typedef {object} SubscriberEvents
 * @property {(connection: SubscriberConnection, again: boolean) => void} onReady connected (again), with no channel
 *   subscribed
 * @property {(connection: SubscriberConnection) => void} onServer its server is known
 * @property {(connection: SubscriberConnection) => void} onClose all its subscriptions are lost
 * @property {(connection: SubscriberConnection) => void} onMoved the server has unsubscribed channels, because their
 *   hash slots have moved
 * @property {(connection: SubscriberConnection, channel: string, payload: Buffer) => void} onMessage
 *
 * @typedef {{ name: 'ssubscribe' | 'sunsubscribe', channels: string[] }} SubscriberCommand
 */

/** One connection for sharded pub/sub, to one node. Reconnects without a limit; its owner subscribes the channels. */
export class SubscriberConnection {
  #connection
  /** The connected server, if known (identity.js). @type {string | undefined} */
  server

  /**
   * @param {string} nodeKey
   * @param {import('./topology.js').Topology} topology
   * @param {import('ioredis').RedisOptions} options
   * @param {SubscriberEvents} events
   * @param {import('./reconnecting-connection.js').Sources} sources
   */
  constructor (nodeKey, topology, options, events, sources) {
    this.nodeKey = nodeKey
    this.#connection = new ReconnectingConnection({
      open: () => {
        const redis = topology.connect(nodeKey, { ...options, ...ONE_ATTEMPT })
        redis?.on('moved', () => { if (this.ready) events.onMoved(this) })
        redis?.on('smessageBuffer', (/** @type {Buffer} */ channel, /** @type {Buffer} */ payload) =>
          events.onMessage(this, channel.toString(), payload)
        )
        return redis
      },
      onUp: (redis, again) => {
        this.server = undefined
        // before the first channel: a subscriber may send few commands other than PING
        identityOf(redis).then(({ server }) => {
          this.server = server
          events.onServer(this)
        }, () => {})
        events.onReady(this, again)
      },
      onDown: () => events.onClose(this)
    }, sources)
    this.#connection.start()
  }

  /** Bytes received over the current connection. */
  get received () { return this.#connection.redis?.stream?.bytesRead ?? 0 }

  get ready () { return this.#connection.redis !== undefined }

  /**
   * Sends commands in one write.
   * @param {SubscriberCommand[]} commands
   * @returns {Promise<(Error | null)[]>} one for each command
   */
  async send (commands) {
    const pipeline = this.#connection.redis?.pipeline()
    if (pipeline === undefined) throw new Error('redis: not connected')
    for (const { name, channels } of commands) pipeline[name](...channels)
    const results = await pipeline.exec()
    return commands.map((_, i) => results?.[i]?.[0] ?? null)
  }

  /** @returns {ReadonlySet<string>} the channels that the server has confirmed and not unsubscribed */
  subscribed () {
    // ioredis keeps this record for its own resubscribing; only it shows the channels that a migration unsubscribes
    const { condition } =
      /** @type {{ condition?: { subscriber: false | { channels: (kind: string) => string[] } } }} */ (
        /** @type {unknown} */ (this.#connection.redis ?? {})
      )
    return new Set(condition?.subscriber ? condition.subscriber.channels('ssubscribe') : [])
  }

  reconnect () { this.#connection.reconnect() }

  close () { this.#connection.stop() }
}

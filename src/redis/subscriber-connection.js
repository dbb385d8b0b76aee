import { runIdOf } from './moved-address.js'
import { connectionOptions, reconnectForEver } from './options.js'

/** Interval of pings, ms: without them an idle subscriber would not notice that the server is gone. */
const PING_INTERVAL = 5000

/**
 * @typedef {object} SubscriberEvents
 * @property {(connection: SubscriberConnection) => void} onReady connected (again), with no channel subscribed
 * @property {(connection: SubscriberConnection) => void} onServer its run id is known
 * @property {(connection: SubscriberConnection) => void} onClose all its subscriptions are lost
 * @property {(connection: SubscriberConnection) => void} onMoved the server has unsubscribed channels, because their
 *   hash slots have moved
 * @property {(connection: SubscriberConnection, channel: string, payload: Buffer) => void} onMessage
 *
 * @typedef {{ name: 'ssubscribe' | 'sunsubscribe', channels: string[] }} SubscriberCommand
 */

/** One connection for sharded pub/sub, to one node. Reconnects without a limit; its owner subscribes the channels. */
export class SubscriberConnection {
  #closed = false
  /** How often it was connected. */
  connects = 0
  /** Run id of the connected server, if known. @type {string | undefined} */
  runId

  /**
   * @param {string} nodeKey
   * @param {import('./topology.js').Topology} topology
   * @param {string} name
   * @param {SubscriberEvents} events
   */
  constructor (nodeKey, topology, name, { onReady, onServer, onClose, onMoved, onMessage }) {
    this.nodeKey = nodeKey
    const reconnect = reconnectForEver()
    const redis = topology.connect(nodeKey, {
      ...connectionOptions(`${name}-subscriber`),
      retryStrategy: reconnect.retryStrategy
    })
    if (redis === undefined) throw new Error(`redis: node ${nodeKey} is gone`)
    this.redis = redis
    redis.on('ready', () => {
      reconnect.reset()
      this.runId = undefined
      // before the first channel: a subscriber may send few commands other than PING
      runIdOf(redis).then((runId) => {
        this.runId = runId
        onServer(this)
      }, () => {})
      if (!this.#closed) onReady(this)
    })
    redis.on('close', () => { if (!this.#closed) onClose(this) })
    redis.on('moved', () => { if (!this.#closed) onMoved(this) })
    redis.on('error', () => {}) // a close follows
    redis.on('smessageBuffer', (/** @type {Buffer} */ channel, /** @type {Buffer} */ payload) =>
      onMessage(this, channel.toString(), payload)
    )
    redis.connect().catch(() => {})
    this.pinger = setInterval(() => {
      // without a reply the connection ends (socketTimeout)
      if (this.ready) redis.ping().catch(() => {})
    }, PING_INTERVAL).unref()
  }

  /** Bytes received over the current connection. */
  get received () { return this.redis.stream?.bytesRead ?? 0 }

  get ready () { return this.redis.status === 'ready' && !this.#closed }

  /**
   * Sends commands in one write.
   * @param {SubscriberCommand[]} commands
   * @returns {Promise<(Error | null)[]>} one for each command
   */
  async send (commands) {
    const pipeline = this.redis.pipeline()
    for (const { name, channels } of commands) pipeline[name](...channels)
    const results = await pipeline.exec()
    return commands.map((_, i) => results?.[i]?.[0] ?? null)
  }

  /** @returns {ReadonlySet<string>} the channels that the server has confirmed and not unsubscribed */
  subscribed () {
    // ioredis keeps this record for its own resubscribing; only it shows the channels that a migration unsubscribes
    const { condition } =
      /** @type {{ condition?: { subscriber: false | { channels: (kind: string) => string[] } } }} */ (
        /** @type {unknown} */ (this.redis)
      )
    return new Set(condition?.subscriber ? condition.subscriber.channels('ssubscribe') : [])
  }

  reconnect () { this.redis.disconnect(true) }

  close () {
    this.#closed = true
    clearInterval(this.pinger)
    this.redis.disconnect()
  }
}

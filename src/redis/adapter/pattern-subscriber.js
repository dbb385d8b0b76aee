import { Cluster } from 'ioredis'
import { Backoff } from '../../common/backoff.js'
import { connectionOptions, RECONNECT } from '../options.js'
import { ASK_ONCE } from '../sentinel/options.js'

/** Interval of pings, ms: without them an idle subscriber would not notice that the server is gone. */
const PING_INTERVAL = 5000

/**
 * A separate connection for classic pub/sub, which every node of Redis Cluster forwards to all others. Documents and
 * rooms use sharded channels (channels.js) instead. Messages published during a reconnect are lost.
 *
 * @param {object} dependencies
 * @param {import('ioredis').Redis | import('ioredis').Cluster} dependencies.client it connects to the same servers
 * @param {string} dependencies.name shown in CLIENT LIST
 * @param {readonly string[]} dependencies.prefixes of the channels
 * @param {(channel: string, payload: Buffer) => void} dependencies.onMessage
 * @param {(error: unknown) => void} [dependencies.onRejected] called with the error when an attempt to subscribe fails
 * @param {() => void} [dependencies.onReconnected] called when a lost connection is established again
 */
export function createPatternSubscriber ({
  client, name, prefixes, onMessage, onRejected = () => {}, onReconnected = () => {}
}) {
  const patterns = prefixes.map((prefix) => `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`)
  const backoff = new Backoff(RECONNECT)
  /** @type {import('ioredis').Redis | undefined} */
  let connection
  /** The node it is connected to. @type {import('ioredis').Redis | undefined} */
  let node
  /** @type {NodeJS.Timeout | undefined} */
  let retrying
  let stopped = false
  let wasConnected = false
  const pinging = setInterval(() => { connection?.ping().catch(() => {}) }, PING_INTERVAL).unref()

  /** @returns {Promise<void>} resolves after the first attempt to subscribe; never rejects, but retries */
  async function connect () {
    const nodes = client instanceof Cluster ? client.nodes('master') : [client]
    node = nodes[Math.floor(Math.random() * nodes.length)]
    if (node === undefined) return retry()
    // no retryStrategy: each retry picks a node again
    const opened = node.duplicate({
      ...connectionOptions(`${name}-rooms`), retryStrategy: null, readOnly: false, ...ASK_ONCE
    })
    connection = opened
    opened.on('error', () => {}) // a close follows
    opened.on('close', () => { if (connection === opened) retry() })
    opened.on('pmessageBuffer', (_pattern, channel, payload) => onMessage(channel.toString(), payload))
    try {
      await opened.connect()
      await opened.psubscribe(...patterns)
      backoff.reset()
      if (wasConnected) onReconnected()
      wasConnected = true
    } catch (error) {
      onRejected(error)
      opened.disconnect()
      // without a server that Sentinel names there is no close
      if (connection === opened) retry()
    }
  }

  function retry () {
    connection = undefined
    if (!stopped) retrying ??= setTimeout(() => {
      retrying = undefined
      connect()
    }, backoff.next())
  }

  /** Reconnects, because another server may have the address now. */
  function renew () { connection?.disconnect() }

  // Other nodes of a cluster may come and go: each one forwards the messages of all.
  /** @param {import('ioredis').Redis} gone */
  const onNodeGone = (gone) => { if (gone === node) renew() }
  const [event, listener] = client instanceof Cluster ? ['-node', onNodeGone] : ['ready', renew]
  client.on(event, listener)

  return {
    start: connect,

    stop () {
      stopped = true
      client.off(event, listener)
      clearTimeout(retrying)
      clearInterval(pinging)
      connection?.disconnect()
    }
  }
}

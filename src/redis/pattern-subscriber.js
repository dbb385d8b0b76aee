import { Cluster } from 'ioredis'
import { Backoff } from '../common/backoff.js'
import { connectionOptions, RECONNECT } from './options.js'

/** The server closes nothing when it disappears: PING shows it, ms between two. */
const PING_INTERVAL = 5000

/**
 * A connection of its own for classic pub/sub, which every node of Redis Cluster passes on to all others. Documents and
 * rooms use sharded channels (channels.js) instead. What is published while it reconnects is lost.
 *
 * @param {object} dependencies
 * @param {import('ioredis').Redis | import('ioredis').Cluster} dependencies.client whose servers it connects to
 * @param {string} dependencies.name shown in CLIENT LIST
 * @param {readonly string[]} dependencies.prefixes of the channels
 * @param {(channel: string, payload: Buffer) => void} dependencies.onMessage
 */
export function createPatternSubscriber ({ client, name, prefixes, onMessage }) {
  const patterns = prefixes.map((prefix) => `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`)
  const backoff = new Backoff(RECONNECT)
  /** @type {import('ioredis').Redis | undefined} */
  let connection
  /** @type {NodeJS.Timeout | undefined} */
  let retrying
  let stopped = false
  const pinging = setInterval(() => { connection?.ping().catch(() => {}) }, PING_INTERVAL).unref()

  /** @returns {Promise<void>} resolves when it has subscribed; never rejects, but tries again */
  async function connect () {
    const nodes = client instanceof Cluster ? client.nodes('master') : [client]
    const node = nodes[Math.floor(Math.random() * nodes.length)]
    if (node === undefined) return retry()
    // A new node is chosen for each connection.
    const opened = node.duplicate({ ...connectionOptions(`${name}-rooms`), retryStrategy: null, readOnly: false })
    connection = opened
    opened.on('error', () => {}) // a close follows
    opened.on('close', () => { if (connection === opened) retry() })
    opened.on('pmessageBuffer', (_pattern, channel, payload) => onMessage(channel.toString(), payload))
    try {
      await opened.connect()
      await opened.psubscribe(...patterns)
      backoff.reset()
    } catch {
      opened.disconnect()
    }
  }

  function retry () {
    connection = undefined
    if (!stopped) retrying ??= setTimeout(() => {
      retrying = undefined
      connect()
    }, backoff.next())
  }

  return {
    start: connect,

    /** Connects again: another server may have the address now. */
    renew () { connection?.disconnect() },

    stop () {
      stopped = true
      clearTimeout(retrying)
      clearInterval(pinging)
      connection?.disconnect()
    }
  }
}

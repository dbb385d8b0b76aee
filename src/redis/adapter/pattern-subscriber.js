import { createRequire } from 'node:module'
import { connectionOptions } from '../options.js'
import { ReconnectingConnection } from '../reconnecting-connection.js'
import { ONE_ATTEMPT } from '../sentinel/options.js'

const require = createRequire(import.meta.url)
const { Cluster } = require('ioredis')

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
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createPatternSubscriber ({
  client, name, prefixes, onMessage, onRejected = () => {}, onReconnected = () => {}, clock, random
}) {
  const patterns = prefixes.map((prefix) => `${prefix.replace(/[*?[\]\\]/g, '\\$&')}*`)
  /** The node it is connected to. @type {import('ioredis').Redis | undefined} */
  let node
  const connection = new ReconnectingConnection({
    open () {
      const nodes = client instanceof Cluster ? client.nodes('master') : [client]
      node = nodes[Math.floor(random.number() * nodes.length)]
      return node?.duplicate({ ...connectionOptions(`${name}-rooms`), readOnly: false, ...ONE_ATTEMPT })
        .on('pmessageBuffer', (_pattern, channel, payload) => onMessage(channel.toString(), payload))
    },
    prepare: (redis) => redis.psubscribe(...patterns),
    onUp: (_, again) => { if (again) onReconnected() },
    onFailed: onRejected
  }, { clock, random })

  /** Another server may have the address now. */
  const renew = () => connection.reconnect()
  // Other nodes of a cluster may come and go: each one forwards the messages of all.
  /** @param {import('ioredis').Redis} gone */
  const onNodeGone = (gone) => { if (gone === node) renew() }
  const [event, listener] = client instanceof Cluster ? ['-node', onNodeGone] : ['ready', renew]
  client.on(event, listener)

  return {
    /** @returns {Promise<void>} resolves after the first attempt to subscribe; never rejects, but retries */
    start: () => connection.start(),

    stop () {
      client.off(event, listener)
      connection.stop()
    }
  }
}

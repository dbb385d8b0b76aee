import { hashSlot } from '../hash-slot.js'
import { nodeMarker } from '../keys.js'
import { ANSWER_TIMEOUT, connectionOptions } from '../options.js'
import { ReconnectingConnection } from '../reconnecting-connection.js'
import { ONE_ATTEMPT } from '../sentinel/options.js'

/** Maximum number of tags to try for a key on a node. */
const MAX_TAGS = 10_000

/** @param {import('ioredis').Redis | undefined} client @returns {Promise<string>} of Redis */
export async function versionOf (client) {
  const info = await client?.info('server').catch(() => '') ?? ''
  return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'an unknown version'
}

/**
 * A connection to one node on which commands may block. It reconnects without a limit.
 *
 * @param {object} options
 * @param {string} options.nodeKey
 * @param {import('../topology.js').Topology} options.topology
 * @param {string} options.name
 * @param {number} options.timeout longest time that a command blocks, ms
 * @param {import('../../common/clock.js').Clock} options.clock
 * @param {import('../../common/random.js').Random} options.random
 */
export function connectFor ({ nodeKey, topology, name, timeout, clock, random }) {
  const id = random.uuid()
  let tag = 0
  /** @type {Promise<import('ioredis').Redis> | undefined} */
  let becomingReady
  /** @type {(redis: import('ioredis').Redis) => void} */
  let tellReady = () => {}
  const connection = new ReconnectingConnection({
    open: () => topology.connect(nodeKey, {
      ...connectionOptions(name), ...ONE_ATTEMPT, socketTimeout: timeout + ANSWER_TIMEOUT
    }),
    onUp (redis) {
      becomingReady = undefined
      tellReady(redis)
    }
  }, { clock, random })
  connection.start()

  return {
    get client () { return connection.redis },

    /** @returns {Promise<import('ioredis').Redis>} resolves when it is connected; may wait without a limit */
    async ready () {
      // one promise, however many tries give up
      return connection.redis ?? (becomingReady ??= new Promise((resolve) => { tellReady = resolve }))
    },

    /** @returns {string | undefined} a key whose hash slot is on this node; undefined: it has none */
    marker () {
      if (topology.single) return nodeMarker(0, id)
      for (let tries = 0; tries < MAX_TAGS; tries++, tag = (tag + 1) % MAX_TAGS) {
        const key = nodeMarker(tag, id)
        if (topology.nodeOf(hashSlot(key)) === nodeKey) return key
      }
      return undefined
    },

    /** The key may be in a hash slot that is moving: the next one is in another. */
    markerFailed () {
      tag = (tag + 1) % MAX_TAGS
      if (!topology.single) topology.refresh()
    },

    reconnect: () => connection.reconnect(),
    close: () => connection.stop()
  }
}

import { throwInkcastError } from '../errors.js'
import { hashSlot } from '../hash-slot.js'
import { InkcastError } from '../../common/errors.js'
import { createNodeWait } from './node-wait.js'

/**
 * Acknowledges writes when they survive the loss of a Redis server: when a replica has them, or when they are on disk
 * (PUBLISH_WAIT). Why: docs/decisions/0119-publish-wait.md
 *
 * @typedef {object} Durability
 * @property {<T>(keys: readonly string[], write: () => Promise<T>, options?: { regardless?: boolean }) => Promise<T>}
 *   confirmed makes a write and resolves
 *   when it is safe. `keys`: one of each hash slot that it writes to; none: nothing to wait for. Rejects with the
 *   write's own error; with `unavailable`, without making it, while Redis confirms nothing (`regardless`: it is
 *   made also then); with `timeout` if the write
 *   was made and is not confirmed in time
 */

/** Maximum time to wait for a confirmation, ms: `appendfsync everysec` takes up to a second on a disk at rest. */
const TIMEOUT = 3000

/** Acknowledges what Redis has in memory. @type {Durability} */
export const NO_WAIT = Object.freeze({ confirmed: (_, write) => write() })

/**
 * @param {object} dependencies
 * @param {import('../client.js').RedisConnection} dependencies.redis started, and stopped after this
 * @param {{ publishWait: 'none' | import('./modes.js').Mode }} dependencies.settings config.redis
 * @param {number} [dependencies.timeout] ms
 * @param {string} dependencies.name of the process
 * @param {import('./modes.js').DurabilityMetrics} dependencies.metrics
 * @param {import('../../common/log.js').Log} dependencies.log
 * @param {import('../../common/clock.js').Clock} dependencies.clock
 * @param {import('../../common/random.js').Random} dependencies.random
 * @returns {Durability & { start: () => Promise<void>, stop: () => void, warnings: () => string[] }} `start` rejects
 *   with the fix in its message if this Redis can never confirm
 */
export function createDurability ({
  redis: { topology, onBack }, settings: { publishWait: mode }, timeout = TIMEOUT, name, metrics, log,
  clock, random
}) {
  if (mode === 'none') return { ...NO_WAIT, async start () {}, stop () {}, warnings: () => [] }
  /** @type {Map<string, ReturnType<typeof createNodeWait>>} by node */
  const nodes = new Map()
  let stopped = false

  topology.onChange(() => {
    for (const [nodeKey, node] of nodes) {
      if (topology.has(nodeKey)) continue
      nodes.delete(nodeKey)
      node.stop()
    }
  })

  // commands may go to another server now; nodes of a cluster have their own connections
  if (topology.single) onBack(() => { for (const node of nodes.values()) node.follow() })

  /** @param {string} nodeKey */
  function nodeFor (nodeKey) {
    let node = nodes.get(nodeKey)
    if (node === undefined) {
      node = createNodeWait({
        nodeKey, topology, name, mode: /** @type {any} */ (mode), timeout, metrics, log, clock, random
      })
      nodes.set(nodeKey, node)
    }
    return node
  }

  /** @param {string} key */
  const nodeOf = (key) => topology.nodeOf(topology.single ? 0 : hashSlot(key))

  return {
    async start () {
      await Promise.all(topology.nodes().map((nodeKey) => nodeFor(nodeKey).start()))
    },

    stop () {
      stopped = true
      for (const node of nodes.values()) node.stop()
      nodes.clear()
    },

    warnings: () => [...new Set([...nodes.values()].flatMap(({ trouble }) => trouble === null ? [] : [trouble]))],

    async confirmed (keys, write, { regardless = false } = {}) {
      if (keys.length === 0) return write()
      if (stopped) throw new InkcastError('unavailable', 'stopped')
      /** @type {Map<string, string[]>} */
      const byNode = new Map()
      for (const key of keys) {
        const nodeKey = nodeOf(key)
        if (nodeKey === undefined) throw new InkcastError('unavailable', 'redis: a hash slot has no node')
        byNode.set(nodeKey, [...byNode.get(nodeKey) ?? [], key])
      }
      const waits = await Promise.all([...byNode].map(async ([nodeKey, own]) => {
        const node = nodeFor(nodeKey)
        return { nodeKey, own, node, period: await node.before(regardless).catch(throwInkcastError) }
      }))
      const result = await write()
      await Promise.all(waits.map(({ nodeKey, own, node, period }) => {
        const hasMoved = own.some((key) => nodeOf(key) !== nodeKey)
        return node.confirmed(period, own, hasMoved)
      }))
      return result
    }
  }
}

import { hashSlot } from '../hash-slot.js'
import { InkcastError } from '../../base/common/errors.js'
import { NodeWait } from './node-wait.js'

/**
 * Acknowledges writes when they survive the loss of a Redis server: when a replica has them, or when they are on disk
 * (PUBLISH_WAIT). Why: docs/internals/decisions/0119-publish-wait.md
 *
 * @typedef {(key: string) => import('../scripts.js').Scripts} ScriptsOf the scripts that write a key
 *
 * @typedef {object} Durability
 * @property {<T>(keys: readonly string[], write: (scriptsOf?: ScriptsOf) => Promise<T>,
 *   options?: { regardless?: boolean }) => Promise<T>} confirmed makes a write and resolves when it is safe. `keys`:
 *   one of each hash slot that it writes to, with the scripts of `scriptsOf`; none: nothing to wait for. Rejects with
 *   the write's own error; with `unavailable`, without making it, while Redis confirms nothing (`regardless`: it is
 *   made also then); with `timeout` if the write was made and is not confirmed in time
 */

/** Maximum time to wait for a confirmation, ms: `appendfsync everysec` takes up to a second on a disk at rest. */
const TIMEOUT = 3000

/** Acknowledges what Redis has in memory. @type {Durability} */
export const NO_WAIT = Object.freeze({ confirmed: (_, write) => write() })

/**
 * @param {Omit<import('./node-wait.js').Dependencies, 'mode' | 'redis' | 'timeout'> & { timeout?: number,
 *   redis: import('../client.js').RedisConnection, settings: { publishWait: 'none' | import('./modes.js').Mode } }}
 *   dependencies redis: started, and stopped after this; settings: config.redis
 * @returns {Durability & { start: () => Promise<void>, stop: () => void, warnings: () => string[] }} `start` rejects
 *   with the fix in its message if this Redis can never confirm
 */
export function createDurability ({ settings: { publishWait: mode }, timeout = TIMEOUT, ...others }) {
  if (mode === 'none') return { ...NO_WAIT, async start () {}, stop () {}, warnings: () => [] }
  const { redis, redis: { topology, onBack } } = others
  /** @type {Map<string, NodeWait>} by node */
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
      node = new NodeWait(nodeKey, { ...others, mode: /** @type {any} */ (mode), timeout })
      nodes.set(nodeKey, node)
    }
    return node
  }

  /** @param {string} key */
  const slotOf = (key) => topology.single ? 0 : hashSlot(key)

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
      const waits = await Promise.all(keys.map(async (key) => {
        const slot = slotOf(key)
        const nodeKey = topology.nodeOf(slot)
        if (nodeKey === undefined) throw new InkcastError('unavailable', 'redis: a hash slot has no node')
        const node = nodeFor(nodeKey)
        return { key, slot, node, place: await node.before(regardless) }
      }))
      // over the connection that will wait, also if the hash slot has moved meanwhile: its old node then refuses
      const placeOf = (/** @type {string} */ key) => waits.find(({ slot }) => slot === slotOf(key))?.place
      const result = await write((key) => placeOf(key)?.scripts ?? redis.scripts)
      await Promise.all(waits.map(({ node, place, key }) => node.confirmed(place, key)))
      return result
    }
  }
}

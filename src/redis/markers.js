import { hashSlot, tagsOf } from './hash-slot.js'

/** Lifetime of a marker, s: each look renews it, and it expires after its process has ended. */
const TTL = 3600
/** What `nodeMarker` has in front of the tag. */
const PREFIX = 'm:'

/**
 * Markers on the nodes of a Redis Cluster: one key of each worker on each master. It says that the users of this worker
 * whose keys are on this node are registered. A missing one proves that its node has lost its data, even without a lost
 * connection (FLUSHALL on one node); one of an earlier generation, that the last writes may be lost.
 *
 * @typedef {[number: number | string, incarnation: number | string]} Worker
 *
 * @param {object} dependencies
 * @param {import('ioredis').Cluster} dependencies.client
 * @param {Pick<import('./scripts.js').Scripts, 'registered' | 'whole'>} dependencies.scripts
 * @param {Pick<import('./keys.js').Keys, 'nodeMarker'>} dependencies.keys
 */
export function createMarkers ({ client, scripts, keys }) {
  const named = tagsOf(PREFIX)
  /** @param {number} slot */
  const tagOf = (slot) => named(slot).slice(PREFIX.length)
  /** Keys of the markers that this process has written; one for each node. @type {Set<string>} */
  let written = new Set()
  /** @type {Promise<boolean> | null} */
  let looking = null

  /** @param {string} tag @param {Worker} worker */
  const keyOf = (tag, [number, incarnation]) => keys.nodeMarker(tag, `${number}.${incarnation}`)

  /** @returns {Map<string, string>} a tag for each master that has hash slots: of its first one */
  function tags () {
    /** @type {Map<string, string>} */
    const byNode = new Map()
    const nodes = client.nodes('master').length
    for (let slot = 0; slot < client.slots.length && byNode.size < nodes; slot++) {
      const node = client.slots[slot]?.[0]
      if (node !== undefined && !byNode.has(node)) byNode.set(node, tagOf(slot))
    }
    return byNode
  }

  /** @param {Worker} worker @param {boolean} isWhole @returns {Promise<boolean>} */
  async function look (worker, isWhole) {
    let lost = false
    const wanted = new Set(Array.from(tags().values(), (tag) => keyOf(tag, worker)))
    /** @type {Set<string>} */
    const kept = new Set()
    // a node whose first hash slot is another one now may have lost the marker of the one before
    await Promise.all(Array.from(new Set([...wanted, ...written]), async (key) => {
      try {
        if (await scripts.registered([key], [written.has(key) ? '1' : '', isWhole ? '1' : '', TTL]) === 1) lost = true
        if (wanted.has(key)) kept.add(key)
      } catch {
        // an unavailable node has it, or has lost it when it returns
        if (written.has(key)) kept.add(key)
      }
    }))
    written = kept
    return lost
  }

  return {
    /**
     * @param {Worker} worker
     * @param {boolean} isWhole whether its users are registered, and are not being registered again
     * @returns {Promise<boolean>} whether a node has lost a marker. An unavailable node does not count: `onBack` covers
     *   it when it returns
     */
    look (worker, isWhole) {
      // one at a time: the next one must know what this one finds
      looking ??= look(worker, isWhole).finally(() => { looking = null })
      return looking
    },

    /**
     * @param {string} key
     * @param {Worker[]} workers
     * @returns {Promise<boolean>} whether each one has registered its users on the node of this key
     */
    async areWhole (key, workers) {
      const tag = tags().get(client.slots[hashSlot(key)]?.[0])
      if (tag === undefined) return false
      return workers.length === 0 || await scripts.whole(workers.map((worker) => keyOf(tag, worker)), []) === 1
    }
  }
}

import { nodeMarker } from './keys.js'
import { hashSlot } from './hash-slot.js'

/** Lifetime of a marker, s: each look renews it, and it expires after its process has ended. */
const TTL = 3600
/** Maximum number of tags to try: a node without a hit among them has hardly any hash slots. */
const MAX_TAGS = 1000

/**
 * Markers on the nodes of a Redis Cluster: one key of this process on each master. A missing key proves that its node
 * has lost its data, even without a lost connection (FLUSHALL on one node). Markers move with their hash slots.
 *
 * @param {{ client: import('ioredis').Cluster, random: import('../common/random.js').Random }} dependencies
 */
export function createMarkers ({ client, random }) {
  const id = random.uuid()
  /** Tags of written markers; bounded by MAX_TAGS. @type {Set<number>} */
  const written = new Set()

  /** @returns {number[]} a tag for each master that has hash slots; stable unless hash slots move */
  function tags () {
    /** @type {Map<string, number>} */
    const byNode = new Map()
    const nodes = client.nodes('master').length
    for (let tag = 0; tag < MAX_TAGS && byNode.size < nodes; tag++) {
      const node = client.slots[hashSlot(nodeMarker(tag, id))]?.[0]
      if (node !== undefined && !byNode.has(node)) byNode.set(node, tag)
    }
    return [...byNode.values()]
  }

  return {
    /**
     * @returns {Promise<boolean>} whether a node has lost a marker. An unavailable node does not count: `onBack` covers
     *   it when it returns
     */
    async look () {
      let lost = false
      await Promise.allSettled(tags().map(async (tag) => {
        const before = await client.set(nodeMarker(tag, id), '1', 'EX', TTL, 'GET')
        if (before === null && written.has(tag)) lost = true
        written.add(tag)
      }))
      return lost
    }
  }
}

import { randomUUID } from 'node:crypto'
import { nodeMarker } from './keys.js'
import { hashSlot } from './hash-slot.js'

/** A marker is written again with each look, and expires when its process is gone, s. */
const TTL = 3600
/** A node without a slot among those of so many tags has hardly any. */
const MAX_TAGS = 1000

/**
 * Markers on the nodes of a Redis Cluster: one key of this process on each master. A key that is missing shows that its
 * node has lost its data, also where no connection was lost (FLUSHALL on one of them). Markers move with their slots.
 *
 * @param {{ client: import('ioredis').Cluster }} dependencies
 */
export function createMarkers ({ client }) {
  const id = randomUUID()
  /** Markers that were written, by tag; bounded by MAX_TAGS. @type {Set<number>} */
  const written = new Set()

  /** @returns {number[]} a tag for each master that has slots; the same ones as long as no slot moves */
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
     * @returns {Promise<boolean>} whether a node has lost what was written before. Of one that is away nothing is
     *   known: its return is told by `onBack`
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

/**
 * Decides whether a document with another generation than its node's came with a moved hash slot from a node that is
 * still alive; then it is complete. Otherwise the data may come from a replica or a disk that was behind.
 * Why: docs/internals/decisions/0094-losses-of-redis.md
 */

/**
 * @typedef {object} Nodes the required part of a Cluster
 * @property {() => (string | undefined)[]} owners keys of the nodes that had the hash slots at the last refresh
 * @property {(nodeKey: string) => Promise<string | undefined>} ask reads the generation of a node
 * @property {() => void} refresh requests another refresh of the cluster's hash slots
 *
 * @typedef {{ owner: string | undefined, seen: ReadonlyMap<string, string> }} Place the node that had a hash slot, and
 *   the generations by node that had been read before
 */

/** The error of a script (`asksForMove` in include/generation.lua). */
const QUESTION = /^GENERATION (\S+) (\S+)/

/** @param {Nodes} nodes */
export function createSlotMoves ({ owners: ownersNow, ask, refresh }) {
  /** By hash slot; empty until the generations of all nodes are known. @type {(string | undefined)[]} */
  let owners = []
  /** @type {Map<string, string>} by node */
  let seen = new Map()
  /** Previous places of moved hash slots. @type {Map<number, Place>} */
  const before = new Map()

  /** @param {string} nodeKey */
  const askQuietly = (nodeKey) => ask(nodeKey).catch(() => undefined)

  return {
    /** To be called after each refresh of the cluster's hash slots. Never rejects. */
    async look () {
      const now = ownersNow()
      // a loop, and no Set of all: each refresh comes here, and while a node is gone there are many
      /** @type {string[]} */
      const keys = []
      let last
      for (const owner of now) {
        // most hash slots are on the node of the one before
        if (owner === last) continue
        last = owner
        if (owner !== undefined && !keys.includes(owner)) keys.push(owner)
      }
      if (keys.length === seen.size && keys.every((key) => seen.has(key))) {
        // of the hash slot before: equal keys of two refreshes are two strings, which take time to compare
        /** @type {string | undefined} */
        let was
        /** @type {string | undefined} */
        let is
        let hasMoved = false
        for (let slot = 0; slot < owners.length; slot++) {
          const owner = owners[slot]
          if (owner !== was || now[slot] !== is) {
            was = owner
            is = now[slot]
            hasMoved = was !== is
          }
          if (hasMoved && owner !== undefined) before.set(slot, { owner, seen })
        }
        owners = now
        return
      }
      const generations = await Promise.all(keys.map(askQuietly))
      seen = new Map(keys.flatMap((key, i) => generations[i] === undefined ? [] : [[key, generations[i]]]))
      owners = []
      // a hash slot may have moved while the generations were read
      if (seen.size === keys.length) refresh()
    },

    /** To be called after a (re)connect: the node may be another server. @param {string} nodeKey */
    forget (nodeKey) { seen = new Map([...seen].filter(([key]) => key !== nodeKey)) },

    /**
     * Calls a script; if it asks whether the hash slot has moved, calls it again with the answer.
     * @template T
     * @param {number} slot
     * @param {(move: string) => Promise<T>} call
     */
    async answer (slot, call) {
      try {
        return await call('?')
      } catch (error) {
        const [, noted, current] = QUESTION.exec(/** @type {Error} */ (error).message) ?? []
        if (noted === undefined) throw error
        return call(await moveOf(slot, noted, current))
      }
    }
  }

  /**
   * @param {number} slot
   * @param {string} noted generation of the document
   * @param {string} current generation of the node that has it now
   * @returns {Promise<string>} `<noted>><current>` if the hash slot was moved from a node that is still alive to a
   *   node that was alive at that time, otherwise ''. Never rejects
   */
  async function moveOf (slot, noted, current) {
    for (const place of [{ owner: owners[slot], seen }, before.get(slot)]) {
      if (place?.owner === undefined) continue
      const { owner, seen: then } = place
      if (then.get(owner) !== noted || ![...then.values()].includes(current)) continue
      if ((await askQuietly(owner)) === noted) return `${noted}>${current}`
    }
    return ''
  }
}

/**
 * Says of a document whose node changed that it came from a node that is alive, and so has lost nothing: its slot was
 * moved. Otherwise a node that finds a generation that is not its own has to take its data for those of a replica, or
 * of a disk, that were behind. Why: docs/decisions/0094-generations-of-redis.md
 */

/** The replication id of a master, as include/generation.lua shortens it. */
const ID_LENGTH = 20

/**
 * @param {string} info INFO replication
 * @returns {string | undefined} undefined: it is no master, or does not tell
 */
export function generationIn (info) {
  return /^role:master/m.test(info) ? /^master_replid:(\w+)/m.exec(info)?.[1].slice(0, ID_LENGTH) : undefined
}

/**
 * @typedef {object} Nodes what is needed of a Cluster
 * @property {(slot: number) => string | undefined} ownerOf key of the node that had a slot when the cluster was last
 *   looked at
 * @property {(nodeKey: string) => Promise<string | undefined>} ask for the generation of a node
 * @property {() => void} refresh the cluster is to be looked at again
 *
 * @typedef {{ owner: string | undefined, seen: ReadonlyMap<string, string> }} Place the node that had a slot, and
 *   generations by node that were asked for before
 */

const SLOTS = 16_384

/** @param {Nodes} nodes */
export function createSlotMoves ({ ownerOf, ask, refresh }) {
  /** By slot; empty until the generations of all nodes are known. @type {(string | undefined)[]} */
  let owners = []
  /** @type {Map<string, string>} by node */
  let seen = new Map()
  /** Where slots were that have changed their node. @type {Map<number, Place>} */
  const before = new Map()

  /** @param {string} nodeKey */
  const askQuietly = (nodeKey) => ask(nodeKey).catch(() => undefined)

  return {
    /** To be called when the cluster has been looked at. Never rejects. */
    async look () {
      const now = Array.from({ length: SLOTS }, (_, slot) => ownerOf(slot))
      const keys = [...new Set(now)].filter((key) => key !== undefined)
      if (keys.length === seen.size && keys.every((key) => seen.has(key))) {
        now.forEach((owner, slot) => {
          if (owners[slot] !== undefined && owners[slot] !== owner) before.set(slot, { owner: owners[slot], seen })
        })
        owners = now
        return
      }
      const generations = await Promise.all(keys.map(askQuietly))
      seen = new Map(keys.flatMap((key, i) => generations[i] === undefined ? [] : [[key, generations[i]]]))
      owners = []
      // a slot may have moved while they were asked
      if (seen.size === keys.length) refresh()
    },

    /** It was connected to (again), and may be another one. @param {string} nodeKey */
    forget (nodeKey) { seen = new Map([...seen].filter(([key]) => key !== nodeKey)) },

    /**
     * @param {number} slot
     * @param {string} noted generation of what lies there
     * @param {string} current generation of the node that has it now
     * @returns {Promise<string>} `<noted>><current>` if it was moved from a node that is still alive, to one that was
     *   already, else ''. Never rejects
     */
    async of (slot, noted, current) {
      for (const { owner, seen: then } of [
        { owner: owners[slot], seen },
        before.get(slot) ?? { owner: undefined, seen }
      ]) {
        if (owner === undefined || then.get(owner) !== noted || ![...then.values()].includes(current)) continue
        if ((await askQuietly(owner)) === noted) return `${noted}>${current}`
      }
      return ''
    }
  }
}

import { groupBySlot, slotIn } from './hash-slot.js'

/**
 * Reads something of each item, with one call for the items of a hash slot. A node of Redis Cluster that fails costs
 * the answers of its own items only.
 *
 * @template T, R
 * @param {{ isCluster: boolean }} redis
 * @param {readonly T[]} items
 * @param {object} how
 * @param {(item: T) => string} how.keyOf a key of its hash slot
 * @param {(items: T[]) => Promise<R[]>} how.read items of one call
 * @param {number} [how.limit] items in one call; default: any number
 * @returns {Promise<(R | undefined)[]>} undefined: the read failed; rejects with the error of the first if all fail
 */
export async function readBySlot (redis, items, { keyOf, read, limit }) {
  const calls = groupBySlot(items.keys(), (i) => slotIn(redis, keyOf(items[i])), limit)
  /** @type {(R | undefined)[]} */
  const answers = Array(items.length).fill(undefined)
  const results = await Promise.allSettled(calls.map(async (places) => {
    const found = await read(places.map((i) => items[i]))
    places.forEach((place, i) => { answers[place] = found[i] })
  }))
  const failures = results.filter((result) => result.status === 'rejected')
  if (failures.length > 0 && failures.length === results.length) throw failures[0].reason
  return answers
}

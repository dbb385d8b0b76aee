import { hashSlot, tagsOf } from './hash-slot.js'

/** Once it is needed. @type {ReturnType<typeof tagsOf> | undefined} */
let tagOf

/**
 * The key of the epoch that documents without a record have: one for all with a single Redis, one for each hash slot of
 * Redis Cluster, because scripts use it together with keys of such a document.
 *
 * @param {{ isCluster: boolean, keys: Pick<import('./keys.js').Keys, 'emptyEpoch'> }} redis
 * @param {string} key of the document
 * @returns {string}
 */
export function emptyEpochBeside ({ isCluster, keys }, key) {
  if (!isCluster) return keys.emptyEpoch('n:')
  tagOf ??= tagsOf('n:')
  return keys.emptyEpoch(tagOf(hashSlot(key)))
}

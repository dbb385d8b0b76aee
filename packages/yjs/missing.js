import * as Y from 'yjs'

/**
 * The part of a document that others do not have: insertions by state vector, deletions by delete set. (A state vector
 * alone does not show deletions.)
 *
 * @param {Y.Doc} doc
 * @param {Uint8Array[]} known updates that others have: a snapshot, and later records
 * @returns {Uint8Array | null} an update, with all deletions of the document; null: nothing is missing
 */
export function missingFrom (doc, known) {
  const merged = known.length === 0 ? null : Y.mergeUpdates(known)
  const vector = merged === null ? new Uint8Array([0]) : Y.encodeStateVectorFromUpdate(merged)
  const clocks = Y.decodeStateVector(vector)
  const own = Y.decodeStateVector(Y.encodeStateVector(doc))
  const hasMore = [...own].some(([client, clock]) => clock > (clocks.get(client) ?? 0)) ||
    !covers(merged === null ? new Map() : Y.decodeUpdate(merged).ds.clients, deletionsOf(doc))
  return hasMore ? Y.encodeStateAsUpdate(doc, vector) : null
}

/** @typedef {Map<number, { clock: number, len: number }[]>} Deletions ranges by client */

/** @param {Y.Doc} doc @returns {Deletions} */
const deletionsOf = (doc) => Y.createDeleteSetFromStructStore(doc.store).clients

/**
 * @param {Deletions} known
 * @param {Deletions} deletions
 * @returns {boolean} whether all of the deletions are known
 */
function covers (known, deletions) {
  for (const [client, ranges] of deletions) {
    const sorted = [...known.get(client) ?? []].sort((a, b) => a.clock - b.clock)
    let i = 0
    for (const { clock, len } of [...ranges].sort((a, b) => a.clock - b.clock)) {
      let next = clock
      while (next < clock + len) {
        while (i < sorted.length && sorted[i].clock + sorted[i].len <= next) i++
        if (i === sorted.length || sorted[i].clock > next) return false
        next = sorted[i].clock + sorted[i].len
      }
    }
  }
  return true
}

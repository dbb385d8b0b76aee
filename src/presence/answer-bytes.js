/**
 * How large the lists of members are that clients ask for: as large as many questions may be, so they count among what
 * a client may send.
 *
 * @typedef {import('./contract.js').Member} Member
 */

/** Lists are shared by all who ask at the same time. @type {WeakMap<Member[], number>} */
const sizes = new WeakMap()

/** @param {Member[]} members @returns {number} bytes of JSON, about */
export function bytesOf (members) {
  let bytes = sizes.get(members)
  if (bytes === undefined) sizes.set(members, bytes = JSON.stringify(members).length)
  return bytes
}

/**
 * @param {Member[]} members
 * @param {Member} own
 * @returns {Member[]} a list of its own, whose size is not counted from the beginning
 */
export function withOwn (members, own) {
  const all = [...members, own]
  sizes.set(all, bytesOf(members) + JSON.stringify(own).length)
  return all
}

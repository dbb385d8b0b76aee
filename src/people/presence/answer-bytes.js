/**
 * Sizes of the member lists that clients request: a short request can have a large answer, so answers count toward
 * the bytes that a client may send.
 *
 * @typedef {import('./contract.js').Member} Member
 */

/** Concurrent requests share a list. @type {WeakMap<Member[], number>} */
const sizes = new WeakMap()

/** @param {Member[]} members @returns {number} bytes of JSON, about */
export function bytesOf (members) {
  let bytes = sizes.get(members)
  if (bytes === undefined) sizes.set(members, bytes = JSON.stringify(members).length)
  return bytes
}

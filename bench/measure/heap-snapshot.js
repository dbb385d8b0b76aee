/**
 * Reads heap snapshots of V8 (`v8.writeHeapSnapshot`), and compares two of them by constructor.
 */
import { readFileSync } from 'node:fs'

/**
 * @typedef {{ count: number, bytes: number }} Size bytes: of the objects themselves, without what they refer to
 * @typedef {Map<string, Size>} Sizes by constructor of objects, else by kind in parentheses
 * @typedef {{ name: string, count: number, bytes: number, before: Size, after: Size }} Difference
 */

const NONE = Object.freeze({ count: 0, bytes: 0 })

/** @param {string} file @returns {Sizes} */
export const readSnapshot = (file) => sizesOf(JSON.parse(readFileSync(file, 'utf8')))

/**
 * @param {{ snapshot: { meta: any }, nodes: number[], strings: string[] }} snapshot
 * @returns {Sizes}
 */
export function sizesOf ({ snapshot: { meta }, nodes, strings }) {
  const at = (/** @type {string} */ field) => meta.node_fields.indexOf(field)
  const [type, name, size] = ['type', 'name', 'self_size'].map(at)
  /** @type {string[]} */
  const types = meta.node_types[type]
  /** @type {Sizes} */
  const sizes = new Map()
  for (let node = 0; node < nodes.length; node += meta.node_fields.length) {
    const key = keyOf(types[nodes[node + type]], strings[nodes[node + name]])
    const found = sizes.get(key)
    if (found === undefined) sizes.set(key, { count: 1, bytes: nodes[node + size] })
    else {
      found.count++
      found.bytes += nodes[node + size]
    }
  }
  return sizes
}

/** Names of other kinds are contents, as the text of strings. @param {string} type @param {string} name */
function keyOf (type, name) {
  if (type === 'object') return name
  if (type === 'closure') return `${name || 'anonymous'}()`
  if (type === 'native') return `${name.split(' ')[0]} (native)`
  return `(${type})`
}

/**
 * @param {Sizes} before
 * @param {Sizes} after
 * @returns {Difference[]} what has changed, most additional bytes first
 */
export function compareSnapshots (before, after) {
  return [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    const [from, to] = [before.get(name) ?? NONE, after.get(name) ?? NONE]
    return { name, count: to.count - from.count, bytes: to.bytes - from.bytes, before: from, after: to }
  }).filter(({ count, bytes }) => count !== 0 || bytes !== 0).sort((a, b) => b.bytes - a.bytes)
}

/** @param {Sizes} sizes @returns {number} bytes */
export const totalOf = (sizes) => [...sizes.values()].reduce((sum, { bytes }) => sum + bytes, 0)

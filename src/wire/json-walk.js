import { MAX_DEPTH } from './value.js'

/**
 * Finds the original bytes of values in JSON that JSON.parse has accepted.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Depth of the containers of a value in an object of a list. */
const DEEPEST = MAX_DEPTH + 3

/**
 * The values of one field of the objects in a list: `{ "<list>": [ { "<field>": … }, … ] }`. Decoding and encoding them
 * again would lose what JavaScript cannot hold, such as large integers.
 *
 * @param {string} text that JSON.parse reads as such an object
 * @param {string} list
 * @param {string} field
 * @returns {(string | undefined)[] | null} one per item; undefined: the item has no such field. null: a value is nested
 *   deeper than MAX_DEPTH
 */
export function rawItems (text, list, field) {
  const top = membersOf(text, space(text, 0), MAX_DEPTH + 2)
  const begin = top?.findLast(({ name }) => name === list)?.begin
  if (top === null || begin === undefined) return null
  /** @type {(string | undefined)[]} */
  const values = []
  let at = space(text, begin + 1)
  if (text[at] === ']') return values
  for (;;) {
    const end = endOfJson(text, at, MAX_DEPTH + 1)
    if (text[at] === '{') {
      const members = membersOf(text, at, MAX_DEPTH)
      if (members === null) return null
      const found = members.findLast(({ name }) => name === field)
      values.push(found && text.slice(found.begin, found.end))
    } else values.push(undefined)
    at = space(text, end)
    if (text[at] !== ',') return values
    at = space(text, at + 1)
  }
}

/**
 * Counts what JSON.parse would make of the items of a list, before it does: objects and arrays cost far more than their
 * bytes.
 *
 * @param {string} text `{ "<list>": [ … ] }`, or anything else
 * @returns {{ items: number, fields: number, values: number, deep: boolean }} items: of all lists together; fields:
 *   most fields of one object; values: all, with the names of fields; deep: a value is nested deeper than MAX_DEPTH,
 *   and the rest was not counted
 */
export function countItems (text) {
  let depth = 0
  let items = 0
  let fields = 0
  let values = 0
  let top = 1
  let own = 0
  /** Whether anything stands before it in the list or object. */
  let begun = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char <= 0x20) continue
    if (depth === 2 && !begun && char !== 0x5d && char !== 0x7d) {
      begun = true
      items++
    }
    if (char === QUOTE) {
      at = endOfString(text, at) - 1
      if (at < 0) break
    } else if (char === 0x5b || char === 0x7b) {
      values++
      if (++depth === 2) begun = false
      else if (depth === 3) own = 1
      else if (depth > DEEPEST) return { items, fields, values, deep: true }
    } else if (char === 0x5d || char === 0x7d) {
      depth--
    } else if (char === 0x3a) {
      values++
    } else if (char === 0x2c) {
      values++
      if (depth === 1) fields = Math.max(fields, ++top)
      else if (depth === 2) items++
      else if (depth === 3) fields = Math.max(fields, ++own)
    }
  }
  return { items, fields, values, deep: false }
}

/**
 * @param {string} text
 * @param {number} at where an object begins
 * @param {number} maxDepth of its values
 * @returns {{ name: string, begin: number, end: number }[] | null} in their order; null: a value is nested deeper
 */
function membersOf (text, at, maxDepth) {
  const members = []
  at = space(text, at + 1)
  while (text[at] === '"') {
    const afterName = endOfString(text, at)
    const written = text.slice(at + 1, afterName - 1)
    const begin = space(text, space(text, afterName) + 1)
    const end = endOfJson(text, begin, maxDepth)
    if (end === -1) return null
    members.push({ name: written.includes('\\') ? JSON.parse(`"${written}"`) : written, begin, end })
    at = space(text, end)
    if (text[at] !== ',') break
    at = space(text, at + 1)
  }
  return members
}

/** @param {string} text @param {number} at @returns {number} where the white space ends */
export function space (text, at) {
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

/** @param {string} text @param {number} at where a string begins @returns {number} where it ends; 0: it does not */
export function endOfString (text, at) {
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at === -1) return 0
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
}

/**
 * @param {string} text
 * @param {number} at where a value begins
 * @param {number} [maxDepth]
 * @returns {number} where it ends; -1: it is nested deeper than that
 */
export function endOfJson (text, at, maxDepth = MAX_DEPTH) {
  if (text.charCodeAt(at) === QUOTE) return endOfString(text, at)
  let depth = 0
  for (;;) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    if (char === 0x5b || char === 0x7b) {
      if (++depth > maxDepth) return -1
    } else if (char === 0x5d || char === 0x7d) {
      // a number ends with its container
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (char === 0x2c || char <= 0x20)) return at
    at++
  }
}

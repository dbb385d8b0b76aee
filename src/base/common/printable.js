/**
 * Text for a terminal. Control characters (C0, C1), formatting ones such as bidi overrides, and unassigned ones are
 * written as JSON escapes: a terminal obeys some of them, and others hide or reorder what a person reads.
 */

const UNPRINTABLE = /(?!\n)[\p{C}\u2028\u2029]/gu

/** @param {string} character @returns {string} one escape for each code unit, as in JSON */
const escaped = (character) => character.split('')
  .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

/** @param {string} text @returns {string} the same text if it has none of these; line feeds stay */
export const printable = (text) => text.replace(UNPRINTABLE, escaped)

/** @param {string} text of one line @returns {string} the same, and without line feeds */
export const printableLine = (text) => printable(text).replaceAll('\n', '\\u000a')

/**
 * Escapes in JSON text, which are those of control characters besides tab and line feed, and the characters that JSON
 * leaves as they are. An escaped backslash before them makes no escape.
 */
const IN_JSON = /(\\\\)|\\(u[\da-f]{4}|[bfr])|(?!\n)[\p{C}\u2028\u2029]/giu
const SHORT = { b: 'u0008', f: 'u000c', r: 'u000d' }

/**
 * @param {string} json one or more lines of JSON
 * @returns {string} JSON whose strings have the escapes as text, so that they are printable when they are decoded
 */
export const printableJson = (json) => json.replace(IN_JSON, (found, backslash, name) => {
  if (backslash !== undefined) return found
  if (name !== undefined) return `\\\\${SHORT[/** @type {'b'} */ (name)] ?? name}`
  return `\\${escaped(found).replaceAll('\\', '\\\\').slice(1)}`
})

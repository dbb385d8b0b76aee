import { failure } from './values.js'

/** Classes of Lua's patterns that scripts use. @type {Record<string, string>} */
const CLASSES = { '%d': '[0-9]', '%S': '[^\\t-\\r ]', '.': '[^]' }
/** `%` and what follows it, a set of other characters, a position, a sign that repeats no capture, or a character. */
const PIECE = /%[^]?|\[\^[^\]%^\\-]+\]|\(\)|\)[*+?-]|[^]/g
const UNKNOWN = /^(?:[-[]|%[^dS\W]?|\(\))$/
const MOST = 100

/** @param {string} pattern @returns {string | undefined} a piece that scripts do not use, and that is refused */
export const unknownIn = (pattern) => pattern.match(PIECE)?.find((piece) => UNKNOWN.test(piece))

/** Patterns of Lua as regular expressions, of which they are a part; those of scripts are few. */
export class Patterns {
  /** @type {Map<string, RegExp>} */
  #known = new Map()

  /** @param {string} pattern @returns {RegExp} with the flag g, at its beginning */
  get (pattern) {
    let found = this.#known.get(pattern)
    if (found === undefined) {
      found = translated(pattern)
      if (this.#known.size >= MOST) this.#known.clear()
      this.#known.set(pattern, found)
    }
    found.lastIndex = 0
    return found
  }
}

/** @param {string} pattern */
function translated (pattern) {
  const unknown = unknownIn(pattern)
  if (unknown !== undefined) throw failure(`the built-in store does not know ${unknown} in a pattern`)
  const source = pattern.replace(PIECE, (piece, at) => {
    if (piece in CLASSES) return CLASSES[piece]
    if (piece[0] === ')') return piece.split('').join('\\')
    if (piece[0] === '[' || '(*+?'.includes(piece)) return piece
    if (piece === '^' ? at === 0 : piece === '$' && at === pattern.length - 1) return piece
    return piece.replace(/^%(?=[^])/, '').replace(/[^\w\s]/, '\\$&')
  })
  try {
    return new RegExp(source, 'g')
  } catch (error) {
    throw /** @type {Error} */ (error).message.includes('stack') ? error : failure('malformed pattern')
  }
}

import { failure, step } from './values.js'

/**
 * Patterns of Lua 5.1, matched as lstrlib.c does: a zero byte ends a pattern, and an error is one only where matching
 * reaches it.
 */

const ESCAPE = 37
const MAX_CAPTURES = 32
const UNFINISHED = -1
const POSITION = -2

/** @param {number} c */
const isLower = (c) => c >= 97 && c <= 122
/** @param {number} c */
const isUpper = (c) => c >= 65 && c <= 90
/** @param {number} c */
const isDigit = (c) => c >= 48 && c <= 57
/** @param {number} c */
const isSpace = (c) => c === 32 || (c >= 9 && c <= 13)
/** @param {number} c */
const isAlpha = (c) => isLower(c | 32)
/** @param {number} c */
const isAlnum = (c) => isAlpha(c) || isDigit(c)

/** By the code of the lower-case letter. @type {Record<number, (c: number) => boolean>} */
const CLASSES = {
  97: isAlpha,
  99: (c) => c < 32 || c === 127,
  100: isDigit,
  108: isLower,
  112: (c) => c > 32 && c < 127 && !isAlnum(c),
  115: isSpace,
  117: isUpper,
  119: isAlnum,
  120: (c) => isDigit(c) || ((c | 32) >= 97 && (c | 32) <= 102),
  122: (c) => c === 0
}

/** @param {number} c @param {number} letter behind % */
function inClass (c, letter) {
  const has = isAlpha(letter) ? CLASSES[letter | 32] : undefined
  return has === undefined ? letter === c : has(c) === isLower(letter)
}

export class Matcher {
  /** @type {{ start: number, length: number }[]} */
  captures = []

  /** @param {string} text @param {string} pattern */
  constructor (text, pattern) {
    this.text = text
    this.pattern = pattern
  }

  /**
   * @param {number} at where the match begins
   * @param {number} from where the pattern begins
   * @returns {number} its end, -1 if there is none
   */
  match (at, from) {
    this.captures.length = 0
    return this.#match(at, from)
  }

  /** The code at a place of the pattern; 0 at its end. @param {number} p */
  #code (p) { return this.pattern.charCodeAt(p) || 0 }

  /** @param {number} s @param {number} p @returns {number} */
  #match (s, p) {
    for (;;) {
      step()
      const code = this.#code(p)
      const next = this.#code(p + 1)
      if (code === 0) return s
      if (code === 40) return next === 41 ? this.#open(s, p + 2, POSITION) : this.#open(s, p + 1, UNFINISHED)
      if (code === 41) return this.#close(s, p + 1)
      if (code === 36 && next === 0) return s === this.text.length ? s : -1
      if (code === ESCAPE && next === 98) {
        s = this.#balanced(s, p + 2)
        if (s === -1) return -1
        p += 4
        continue
      }
      if (code === ESCAPE && next === 102) {
        p += 2
        if (this.#code(p) !== 91) throw failure('missing \'[\' after \'%f\' in pattern')
        const end = this.#classEnd(p)
        const before = s === 0 ? 0 : this.text.charCodeAt(s - 1)
        if (this.#inSet(before, p, end - 1) || !this.#inSet(this.text.charCodeAt(s) || 0, p, end - 1)) return -1
        p = end
        continue
      }
      if (code === ESCAPE && isDigit(next)) {
        s = this.#again(s, next)
        if (s === -1) return -1
        p += 2
        continue
      }
      const end = this.#classEnd(p)
      const suffix = this.#code(end)
      if (suffix === 42) return this.#longest(s, p, end)
      if (suffix === 43) return this.#single(s, p, end) ? this.#longest(s + 1, p, end) : -1
      if (suffix === 45) return this.#shortest(s, p, end)
      const matches = this.#single(s, p, end)
      if (suffix === 63) {
        const found = matches ? this.#match(s + 1, end + 1) : -1
        if (found !== -1) return found
        p = end + 1
      } else {
        if (!matches) return -1
        s++
        p = end
      }
    }
  }

  /** @param {number} p @returns {number} where the class ends that begins at p */
  #classEnd (p) {
    const code = this.#code(p++)
    if (code === ESCAPE) {
      if (this.#code(p) === 0) throw failure('malformed pattern (ends with \'%\')')
      return p + 1
    }
    if (code !== 91) return p
    if (this.#code(p) === 94) p++
    do {
      const member = this.#code(p++)
      if (member === 0) throw failure('malformed pattern (missing \']\')')
      if (member === ESCAPE && this.#code(p) !== 0) p++
    } while (this.#code(p) !== 93)
    return p + 1
  }

  /** @param {number} s @param {number} p @param {number} end of the class */
  #single (s, p, end) {
    if (s >= this.text.length) return false
    const c = this.text.charCodeAt(s)
    const code = this.#code(p)
    if (code === 46) return true
    if (code === ESCAPE) return inClass(c, this.#code(p + 1))
    return code === 91 ? this.#inSet(c, p, end - 1) : code === c
  }

  /** @param {number} c @param {number} p at [ @param {number} end at ] */
  #inSet (c, p, end) {
    const found = this.#code(p + 1) !== 94
    if (!found) p++
    while (++p < end) {
      const code = this.#code(p)
      if (code === ESCAPE) {
        if (inClass(c, this.#code(++p))) return found
      } else if (this.#code(p + 1) === 45 && p + 2 < end) {
        p += 2
        if (code <= c && c <= this.#code(p)) return found
      } else if (code === c) return found
    }
    return !found
  }

  /** @param {number} s @param {number} p */
  #balanced (s, p) {
    const open = this.#code(p)
    const close = this.#code(p + 1)
    if (open === 0 || close === 0) throw failure('unbalanced pattern')
    if (this.text.charCodeAt(s) !== open) return -1
    for (let depth = 1, at = s + 1; at < this.text.length; at++) {
      const c = this.text.charCodeAt(at)
      if (c === close) {
        if (--depth === 0) return at + 1
      } else if (c === open) depth++
    }
    return -1
  }

  /** @param {number} s @param {number} p @param {number} end */
  #longest (s, p, end) {
    let count = 0
    while (this.#single(s + count, p, end)) count++
    for (; count >= 0; count--) {
      const found = this.#match(s + count, end + 1)
      if (found !== -1) return found
    }
    return -1
  }

  /** @param {number} s @param {number} p @param {number} end */
  #shortest (s, p, end) {
    for (;;) {
      const found = this.#match(s, end + 1)
      if (found !== -1) return found
      if (!this.#single(s, p, end)) return -1
      s++
    }
  }

  /** @param {number} s @param {number} p @param {number} length */
  #open (s, p, length) {
    if (this.captures.length >= MAX_CAPTURES) throw failure('too many captures')
    this.captures.push({ start: s, length })
    const level = this.captures.length
    const found = this.#match(s, p)
    if (found === -1) this.captures.length = level - 1
    return found
  }

  /** @param {number} s @param {number} p */
  #close (s, p) {
    const capture = this.captures.findLast(({ length }) => length === UNFINISHED)
    if (capture === undefined) throw failure('invalid pattern capture')
    capture.length = s - capture.start
    const found = this.#match(s, p)
    if (found === -1) capture.length = UNFINISHED
    return found
  }

  /** The text of a capture, once more. @param {number} s @param {number} digit */
  #again (s, digit) {
    const capture = this.captures[digit - 49]
    if (capture === undefined || capture.length === UNFINISHED) throw failure('invalid capture index')
    if (capture.length === POSITION) return -1
    const { start, length } = capture
    return this.text.startsWith(this.text.slice(start, start + length), s) ? s + length : -1
  }

  /**
   * @param {number} i from 0
   * @param {number} start of the match
   * @param {number} end of the match
   * @returns {string | number} the whole match as the first capture of a pattern that has none
   */
  capture (i, start, end) {
    const capture = this.captures[i]
    if (capture === undefined) {
      if (i === 0) return this.text.slice(start, end)
      throw failure('invalid capture index')
    }
    if (capture.length === UNFINISHED) throw failure('unfinished capture')
    const { start: from, length } = capture
    return length === POSITION ? from + 1 : this.text.slice(from, from + length)
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {boolean} [whole] false: no capture where the pattern has none
   */
  all (start, end, whole = true) {
    const count = this.captures.length === 0 && whole ? 1 : this.captures.length
    return Array.from({ length: count }, (_, i) => this.capture(i, start, end))
  }
}

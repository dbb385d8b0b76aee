/**
 * Patterns of ids: text in which `*` stands for any characters, also none. No regular expressions, which a person who
 * writes settings could make arbitrarily slow: the longest id and the longest pattern cost some 65,000 comparisons.
 */

/**
 * Exported for tests: other patterns than prefixes are rare.
 * @param {string} pattern
 * @param {string} id
 * @returns {boolean}
 */
export function matches (pattern, id) {
  let p = 0
  let i = 0
  let star = -1
  let resume = 0
  while (i < id.length) {
    if (pattern[p] === '*') {
      star = p++
      resume = i
    } else if (pattern[p] === id[i]) {
      p++
      i++
    } else if (star >= 0) {
      // the last `*` takes one character more; an earlier one never has to
      p = star + 1
      i = ++resume
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** A list of patterns. The usual ones, an id and a prefix, are compared as such. */
export class Patterns {
  /** @type {Set<string>} */
  #ids = new Set()
  /** @type {string[]} */
  #prefixes = []
  /** @type {string[]} */
  #others = []
  #start

  /**
   * @param {readonly string[]} patterns
   * @param {string} [start] every id must begin with it as well
   */
  constructor (patterns, start = '') {
    this.#start = start
    for (const pattern of patterns) {
      const star = pattern.indexOf('*')
      if (star === -1) this.#ids.add(pattern)
      else if (star === pattern.length - 1) this.#prefixes.push(pattern.slice(0, -1))
      else this.#others.push(pattern)
    }
    /** Whether every id matches. */
    this.all = start === '' && this.#prefixes.includes('')
  }

  /** @param {string} id */
  match (id) {
    if (this.all) return true
    return id.startsWith(this.#start) && (this.#ids.has(id) || this.#prefixes.some((prefix) => id.startsWith(prefix)) ||
      this.#others.some((pattern) => matches(pattern, id)))
  }

  /** @param {string} prefix @returns {boolean} whether every id that begins with it matches */
  covers (prefix) {
    return this.all || (prefix.startsWith(this.#start) && this.#prefixes.some((own) => prefix.startsWith(own)))
  }
}

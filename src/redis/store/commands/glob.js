/**
 * Patterns of KEYS, PSUBSCRIBE and others: `*`, `?`, `[a-c]`, `[^a]`, `\`.
 *
 * @param {string} pattern
 * @param {string} text
 */
export function matches (pattern, text) {
  let p = 0
  let t = 0
  // the last star, and the text behind what it takes
  let star = -1
  let taken = 0
  while (t < text.length) {
    const next = p < pattern.length ? matchOne(pattern, p, text[t]) : -1
    if (pattern[p] === '*') {
      star = p++
      taken = t
    } else if (next !== -1) {
      p = next
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++taken
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p >= pattern.length
}

/**
 * @param {string} pattern
 * @param {number} at
 * @param {string} char
 * @returns {number} where the pattern goes on; -1: the character does not match
 */
function matchOne (pattern, at, char) {
  if (pattern[at] === '?') return at + 1
  if (pattern[at] === '\\' && at + 1 < pattern.length) return pattern[at + 1] === char ? at + 2 : -1
  if (pattern[at] !== '[') return pattern[at] === char ? at + 1 : -1
  let i = at + 1
  const not = pattern[i] === '^'
  if (not) i++
  let found = false
  for (; i < pattern.length && pattern[i] !== ']'; i++) {
    if (pattern[i] === '\\' && i + 1 < pattern.length) {
      found ||= pattern[++i] === char
    } else if (pattern[i + 1] === '-' && i + 2 < pattern.length) {
      const [from, to] = [pattern[i], pattern[i + 2]].sort()
      found ||= char >= from && char <= to
      i += 2
    } else {
      found ||= pattern[i] === char
    }
  }
  return found !== not ? i + 1 : -1
}

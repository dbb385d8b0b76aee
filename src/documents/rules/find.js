/**
 * Finds the rule of a document: the one with the longest prefix of its guid.
 *
 * The prefixes are sorted. The last one that is not after the guid is the longest prefix itself, or begins with it: the
 * next shorter candidate of each is known beforehand. So a search takes one comparison for each doubling of the number
 * of rules, and reads nothing else.
 *
 * @template T
 * @param {Iterable<[prefix: string, value: T]>} rules prefixes are distinct
 * @param {T} otherwise for documents without a rule
 * @returns {(guid: string) => T}
 */
export function createFind (rules, otherwise) {
  const sorted = [...rules].sort(([a], [b]) => a < b ? -1 : 1)
  if (sorted.length === 0) return () => otherwise
  const prefixes = sorted.map(([prefix]) => prefix)
  const values = sorted.map(([, value]) => value)
  /** Index of the longest other prefix that each prefix begins with, or -1. */
  const shorter = prefixes.map((prefix, i) => {
    let other = i - 1
    while (other >= 0 && !prefix.startsWith(prefixes[other])) other--
    return other
  })
  return (guid) => {
    let low = -1
    let high = prefixes.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (prefixes[middle] <= guid) low = middle
      else high = middle
    }
    while (low >= 0 && !guid.startsWith(prefixes[low])) low = shorter[low]
    return low < 0 ? otherwise : values[low]
  }
}

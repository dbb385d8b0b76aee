import { Double, ErrorReply } from '../resp/replies.js'
import { integer, scoreLimit } from '../numbers.js'
import { SortedSet } from '../types/sorted-set.js'
import { is, slice, SYNTAX_ERROR } from './command.js'

/**
 * @typedef {import('../types/sorted-set.js').Scored} Scored
 * @typedef {'rank' | 'score' | 'lex'} By
 * @typedef {(set: SortedSet) => [from: number, to: number]} Range
 */

/** @param {string} text */
function readScore (text) {
  const isOpen = text[0] === '('
  const score = scoreLimit(isOpen ? text.slice(1) : text)
  if (Number.isNaN(score)) throw new ErrorReply('ERR min or max is not a float')
  return { score, isOpen }
}

/** @param {string} text */
function readLex (text) {
  const isItem = text[0] === '(' || text[0] === '['
  if (!isItem && text !== '-' && text !== '+') throw new ErrorReply('ERR min or max not valid string range item')
  return { item: isItem ? text.slice(1) : undefined, sign: text, isOpen: text[0] === '(' }
}

/**
 * @param {By} by
 * @param {string} min
 * @param {string} max
 * @returns {Range} of indexes
 * @throws {ErrorReply}
 */
export function rangeOf (by, min, max) {
  if (by === 'rank') {
    const [start, stop] = [integer(min), integer(max)]
    return (set) => slice(start, stop, set.size)
  }
  if (by === 'score') {
    const [least, most] = [readScore(min), readScore(max)]
    return (set) => [
      set.firstNot(({ score }) => least.isOpen ? score <= least.score : score < least.score),
      set.firstNot(({ score }) => most.isOpen ? score < most.score : score <= most.score)
    ]
  }
  const [least, most] = [readLex(min), readLex(max)]
  return (set) => [
    set.firstNot(({ member }) => isBelow(member, least, !least.isOpen)),
    set.firstNot(({ member }) => isBelow(member, most, most.isOpen))
  ]
}

/**
 * @param {string} member
 * @param {ReturnType<typeof readLex>} limit
 * @param {boolean} isStrict
 */
function isBelow (member, { item, sign }, isStrict) {
  if (item === undefined) return sign === '+'
  return isStrict ? member < item : member <= item
}

/**
 * @param {By} by
 * @param {boolean} [reverse] for ranks only
 * @returns {import('./command.js').Command}
 */
export const ranges = (by, reverse = false) => ({
  arity: -4,
  run ({ keyspace, resp }, [, key, min, max, ...options]) {
    const { withScores, offset, limit } = readOptions(options, by)
    const range = rangeOf(by, min, max)
    const set = keyspace.find(key, SortedSet)
    if (set === undefined) return []
    const [from, to] = range(set)
    let items = reverse ? set.items.slice(set.size - to, set.size - from).reverse() : set.items.slice(from, to)
    if (offset !== undefined) items = offset < 0 ? [] : items.slice(offset, limit < 0 ? undefined : offset + limit)
    return withScores ? scored(items, resp === 3) : items.map(({ member }) => member)
  }
})

/**
 * @param {Scored[]} items
 * @param {boolean} inPairs
 * @returns {import('./command.js').Reply[]}
 */
export function scored (items, inPairs) {
  const pairs = items.map(({ member, score }) => [member, new Double(score)])
  return inPairs ? pairs : pairs.flat()
}

/** @param {string[]} options @param {By} by */
function readOptions (options, by) {
  let withScores = false
  let offset
  let limit = -1
  for (let i = 0; i < options.length; i++) {
    if (by !== 'lex' && is(options[i], 'withscores')) {
      withScores = true
    } else if (by !== 'rank' && is(options[i], 'limit') && i + 2 < options.length) {
      offset = integer(options[++i])
      limit = integer(options[++i])
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  return { withScores, offset, limit }
}

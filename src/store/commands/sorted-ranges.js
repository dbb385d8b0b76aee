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
 * @param {By | undefined} by undefined: the options say it
 * @param {boolean | undefined} reverse
 * @returns {import('./command.js').Command} ZRANGE, and its older forms
 */
export const ranges = (by, reverse) => ({
  arity: -4,
  run ({ keyspace, resp }, [, key, first, second, ...options]) {
    const { order, isReverse, withScores, offset, limit } = readOptions(options, by, reverse)
    const isSwapped = isReverse && order !== 'rank'
    const range = rangeOf(order, isSwapped ? second : first, isSwapped ? first : second)
    const set = keyspace.find(key, SortedSet)
    if (set === undefined) return []
    let items
    if (order === 'rank' && isReverse) {
      const [from, to] = range(set)
      items = set.items.slice(set.size - to, Math.max(set.size - to, set.size - from)).reverse()
    } else {
      items = set.items.slice(...range(set))
      if (isReverse) items.reverse()
    }
    if (offset !== undefined) items = offset < 0 ? [] : items.slice(offset, limit < 0 ? undefined : offset + limit)
    return listed(items, withScores, resp === 3)
  }
})

/**
 * @param {Scored[]} items
 * @param {boolean} withScores
 * @param {boolean} inPairs
 * @returns {import('./command.js').Reply[]}
 */
export function listed (items, withScores, inPairs) {
  if (!withScores) return items.map(({ member }) => member)
  const pairs = items.map(({ member, score }) => [member, new Double(score)])
  return inPairs ? pairs : pairs.flat()
}

/**
 * @param {string[]} options
 * @param {By | undefined} by
 * @param {boolean | undefined} reverse
 */
function readOptions (options, by, reverse) {
  let order = by
  let isReverse = reverse
  let withScores = false
  let offset
  let limit = -1
  for (let i = 0; i < options.length; i++) {
    const option = options[i]
    if (is(option, 'withscores')) {
      withScores = true
    } else if (is(option, 'limit') && i + 2 < options.length) {
      offset = integer(options[++i])
      limit = integer(options[++i])
    } else if (reverse === undefined && is(option, 'rev')) {
      isReverse = true
    } else if (order === undefined && is(option, 'bylex')) {
      order = 'lex'
    } else if (order === undefined && is(option, 'byscore')) {
      order = 'score'
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  order ??= 'rank'
  if (order === 'rank' && limit !== -1)
    throw new ErrorReply('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX')
  if (order === 'lex' && withScores)
    throw new ErrorReply('ERR syntax error, WITHSCORES not supported in combination with BYLEX')
  return { order, isReverse, withScores, offset: order === 'rank' ? undefined : offset, limit }
}

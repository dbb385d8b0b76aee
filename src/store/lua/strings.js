import { badArgument, intAt, integerAt, stringAt } from './arguments.js'
import { format } from './format.js'
import { Matcher } from './patterns.js'
import { LuaTable } from './table.js'
import { failure, first, isTrue, tostring, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

const UPPER_A = 65
const LOWER_A = 97

/** @param {string} text @param {number} from of the letters that change @param {number} to */
const shift = (text, from, to) =>
  text.replace(from === LOWER_A ? /[a-z]/g : /[A-Z]/g, (c) => String.fromCharCode(c.charCodeAt(0) - from + to))

/** A position from the end, if negative. @param {number} position @param {number} length */
const place = (position, length) => position >= 0 ? position : Math.max(0, position + length + 1)

/** @param {Value[]} args @param {boolean} find whether positions are wanted @param {string} name @returns {Value} */
function search (args, find, name) {
  const text = stringAt(args, 1, name)
  const pattern = stringAt(args, 2, name)
  const init = Math.min(Math.max(place(integerAt(args, 3, name, 1), text.length) - 1, 0), text.length)
  // a zero byte hides what follows it, as it ends a string of C
  if (find && (isTrue(args[3]) || !/[$^*+?.([%-]/.test(pattern.split('\0')[0]))) {
    const at = text.indexOf(pattern, init)
    return at === -1 ? undefined : [at + 1, at + pattern.length]
  }
  const anchored = pattern[0] === '^'
  const matcher = new Matcher(text, pattern)
  for (let at = init; at <= text.length; at++) {
    const end = matcher.match(at, anchored ? 1 : 0)
    if (end !== -1) return find ? [at + 1, end, ...matcher.all(at, end, false)] : matcher.all(at, end)
    if (anchored) break
  }
}

/**
 * The replacement of a match, in which % is a capture.
 * @param {string} template
 * @param {Matcher} matcher
 * @param {number} start
 * @param {number} end
 */
function filled (template, matcher, start, end) {
  return template.replace(/%([^]?)/g, (_, of) => {
    if (of < '0' || of > '9' || of === '') return of || '\0'
    return of === '0' ? matcher.text.slice(start, end) : String(tostring(matcher.capture(Number(of) - 1, start, end)))
  })
}

/**
 * @param {Value} by string, table or function
 * @param {Matcher} matcher
 * @param {number} start
 * @param {number} end
 * @returns {string}
 */
function replacement (by, matcher, start, end) {
  if (typeof by === 'string' || typeof by === 'number') return filled(tostring(by), matcher, start, end)
  const value = by instanceof LuaTable ? by.get(matcher.capture(0, start, end)) : first(by(...matcher.all(start, end)))
  if (!isTrue(value)) return matcher.text.slice(start, end)
  if (typeof value === 'string' || typeof value === 'number') return tostring(value)
  throw failure(`invalid replacement value (a ${type(value)})`)
}

/** @type {Record<string, (...args: Value[]) => Value>} */
const LIBRARY = {
  byte (...args) {
    const text = stringAt(args, 1, 'byte')
    const from = place(integerAt(args, 2, 'byte', 1), text.length)
    const to = Math.min(place(integerAt(args, 3, 'byte', from), text.length), text.length)
    const codes = []
    for (let i = Math.max(from, 1); i <= to; i++) codes.push(text.charCodeAt(i - 1))
    return codes
  },
  char (...args) {
    return String.fromCharCode(...args.map((_, i) => {
      const code = intAt(args, i + 1, 'char')
      if (code < 0 || code > 255) throw badArgument(i + 1, 'char', 'invalid value')
      return code
    }))
  },
  find: (...args) => search(args, true, 'find'),
  format,
  gmatch (...args) {
    const matcher = new Matcher(stringAt(args, 1, 'gmatch'), stringAt(args, 2, 'gmatch'))
    let at = 0
    return () => {
      for (; at <= matcher.text.length; at++) {
        const end = matcher.match(at, 0)
        if (end === -1) continue
        const found = matcher.all(at, end)
        at = end === at ? end + 1 : end
        return found
      }
      return undefined
    }
  },
  gsub (...args) {
    const text = stringAt(args, 1, 'gsub')
    const pattern = stringAt(args, 2, 'gsub')
    const by = args[2]
    if (!['number', 'string', 'table', 'function'].includes(type(by))) {
      throw badArgument(3, 'gsub', 'string/function/table expected')
    }
    const most = intAt(args, 4, 'gsub', text.length + 1)
    const anchored = pattern[0] === '^'
    const matcher = new Matcher(text, pattern)
    let result = ''
    let count = 0
    let at = 0
    while (count < most) {
      const end = matcher.match(at, anchored ? 1 : 0)
      if (end !== -1) {
        count++
        result += replacement(by, matcher, at, end)
      }
      if (end > at) at = end
      else if (at < text.length) result += text[at++]
      else break
      if (anchored) break
    }
    return [result + text.slice(at), count]
  },
  len: (...args) => stringAt(args, 1, 'len').length,
  lower: (...args) => shift(stringAt(args, 1, 'lower'), UPPER_A, LOWER_A),
  match: (...args) => search(args, false, 'match'),
  rep: (...args) => stringAt(args, 1, 'rep').repeat(Math.max(0, intAt(args, 2, 'rep'))),
  reverse: (...args) => [...stringAt(args, 1, 'reverse')].reverse().join(''),
  sub (...args) {
    const text = stringAt(args, 1, 'sub')
    const from = place(integerAt(args, 2, 'sub'), text.length)
    return text.slice(Math.max(from, 1) - 1, Math.max(0, place(integerAt(args, 3, 'sub', -1), text.length)))
  },
  upper: (...args) => shift(stringAt(args, 1, 'upper'), LOWER_A, UPPER_A)
}

/** A table with functions, which scripts cannot change. @param {Record<string, Value>} values @returns {LuaTable} */
export function library (values) {
  const table = new LuaTable([], Object.keys(values).length)
  for (const [name, value] of Object.entries(values)) table.set(name, value)
  table.readonly = true
  return table
}

export const strings = library(LIBRARY)

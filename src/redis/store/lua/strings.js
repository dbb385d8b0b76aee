import { integerAt, numberAt, stringAt } from './arguments.js'
import { library } from './library.js'
import { printFixed } from './numbers.js'
import { Patterns } from './patterns.js'
import { failure, isTrue } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/** Conversions of a format. */
const CONVERSION = /%(?:[%s]|\.(\d)f|[^]?)/g

/** @param {string} format @returns {string | undefined} a conversion that scripts do not use, and that is refused */
export const unknownConversion = (format) => format.match(CONVERSION)?.find((one) => !/^%([%s]|\.\df)$/.test(one))

const patterns = new Patterns()

/** A position from the end, if negative. @param {number} position @param {number} length */
const place = (position, length) => position >= 0 ? position : Math.max(0, position + length + 1)

/** The captures of a match, or all of it. @param {RegExpExecArray} match */
const captured = (match) => match.length > 1 ? match.slice(1) : match[0]

export const strings = library({
  byte (/** @type {Value[]} */ ...args) {
    const text = stringAt(args, 1, 'byte')
    const from = place(integerAt(args, 2, 'byte', 1), text.length)
    const to = Math.min(place(integerAt(args, 3, 'byte', from), text.length), text.length)
    const codes = []
    for (let i = Math.max(from, 1); i <= to; i++) codes.push(text.charCodeAt(i - 1))
    return codes
  },
  find (/** @type {Value[]} */ ...args) {
    const [text, part] = [stringAt(args, 1, 'find'), stringAt(args, 2, 'find')]
    if (!isTrue(args[3])) throw failure('the built-in store finds plain text only')
    const from = Math.max(place(integerAt(args, 3, 'find'), text.length) - 1, 0)
    const at = text.indexOf(part, Math.min(from, text.length))
    return at === -1 ? undefined : [at + 1, at + part.length]
  },
  format (/** @type {Value[]} */ ...args) {
    let given = 1
    return stringAt(args, 1, 'format').replace(CONVERSION, (all, decimals) => {
      if (all === '%%') return '%'
      given++
      if (decimals !== undefined) return printFixed(numberAt(args, given, 'format'), Number(decimals))
      if (all !== '%s') throw failure(`the built-in store does not know ${all} in a format`)
      const value = stringAt(args, given, 'format')
      // C ends a string with a zero byte, and Lua does not leave long ones to C
      return value.length >= 100 ? value : value.split('\0')[0]
    })
  },
  gmatch (/** @type {Value[]} */ ...args) {
    const pattern = stringAt(args, 2, 'gmatch')
    if (pattern[0] === '^') throw failure('the built-in store does not know ^ in gmatch')
    const matches = stringAt(args, 1, 'gmatch').matchAll(patterns.get(pattern))
    return () => {
      const { done, value } = matches.next()
      return done ? undefined : captured(value)
    }
  },
  gsub (/** @type {Value[]} */ ...args) {
    const by = stringAt(args, 3, 'gsub')
    let count = 0
    const text = stringAt(args, 1, 'gsub').replace(patterns.get(stringAt(args, 2, 'gsub')), (match, capture) => {
      count++
      return by.replace(/%([^]?)/g, (_, of) => {
        if (of === '1' && typeof capture === 'string') return capture
        return of === '0' || of === '1' ? match : of || '\0'
      })
    })
    return [text, count]
  },
  match (/** @type {Value[]} */ ...args) {
    const match = patterns.get(stringAt(args, 2, 'match')).exec(stringAt(args, 1, 'match'))
    return match === null ? undefined : captured(match)
  },
  sub (/** @type {Value[]} */ ...args) {
    const text = stringAt(args, 1, 'sub')
    const from = place(integerAt(args, 2, 'sub'), text.length)
    return text.slice(Math.max(from, 1) - 1, Math.max(0, place(integerAt(args, 3, 'sub', -1), text.length)))
  }
})

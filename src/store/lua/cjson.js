import { badArgument, stringAt } from './arguments.js'
import { printNumber, readNumber } from './numbers.js'
import { library } from './strings.js'
import { LuaTable, NULL } from './table.js'
import { failure, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

const DEEPEST = 1000

/** @type {Record<string, string>} */
const ESCAPES = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' }
/** @param {string} text */
const quote = (text) =>
  `"${text.replace(/[^ !#-.0-[\]-~\x80-\xff]/g, (c) => ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`

/** @param {string} what @param {string} why */
const unserializable = (what, why) => failure(`Cannot serialise ${what}: ${why}`)

/** @param {number} number */
function encodeNumber (number) {
  if (!Number.isFinite(number)) throw unserializable('number', 'must not be NaN or Inf')
  return printNumber(number)
}

/** @param {LuaTable} table @returns {number} length of its list, -1 if it is an object */
function listLength (table) {
  let longest = 0
  let items = 0
  for (const [key] of table.entries()) {
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return -1
    longest = Math.max(longest, key)
    items++
  }
  if (longest > items * 2 && longest > 10) throw unserializable('table', 'excessively sparse array')
  return items === 0 ? -1 : longest
}

/** @param {Value} key */
function encodeKey (key) {
  if (typeof key === 'number') return `"${encodeNumber(key)}"`
  if (typeof key === 'string') return quote(key)
  throw unserializable('table', 'table key must be a number or string')
}

/** @param {Value} value @param {number} depth @returns {string} */
function encode (value, depth) {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return encodeNumber(value)
  if (typeof value === 'boolean') return String(value)
  if (value === undefined || value === NULL) return 'null'
  if (!(value instanceof LuaTable)) throw unserializable(type(value), 'type not supported')
  if (++depth > DEEPEST) throw failure(`Cannot serialise, excessive depth (${depth})`)
  const length = listLength(value)
  if (length > 0) return `[${Array.from({ length }, (_, i) => encode(value.get(i + 1), depth)).join(',')}]`
  return `{${[...value.entries()].map(([key, item]) => `${encodeKey(key)}:${encode(item, depth)}`).join(',')}}`
}

/** @param {number} code @returns {string} its UTF-8 bytes */
const utf8 = (code) => Buffer.from(String.fromCodePoint(code)).toString('latin1')

/** @typedef {{ type: string, value?: Value, at: number }} Token */

/** Reads a JSON text as Redis' cjson does: also numbers such as 0x10, 1. and inf, and with its errors. */
class Reader {
  #at = 0
  #depth = 0

  /** @param {string} text */
  constructor (text) { this.text = text }

  read () {
    if (this.text.length >= 2 && (this.text[0] === '\0' || this.text[1] === '\0')) {
      throw failure('JSON parser does not support UTF-16 or UTF-32')
    }
    const value = this.#value(this.#token())
    const token = this.#token()
    if (token.type !== 'T_END') throw this.#unexpected('the end', token)
    return value
  }

  /** @param {string} expected @param {Token} token */
  #unexpected (expected, { type, value, at }) {
    return failure(`Expected ${expected} but found ${type === 'T_ERROR' ? value : type} at character ${at + 1}`)
  }

  /** @param {Token} token @returns {Value} */
  #value (token) {
    switch (token.type) {
      case 'T_STRING': case 'T_NUMBER': case 'T_BOOLEAN': case 'T_NULL': return token.value
      case 'T_OBJ_BEGIN': return this.#nested(() => this.#object())
      case 'T_ARR_BEGIN': return this.#nested(() => this.#list())
    }
    throw this.#unexpected('value', token)
  }

  /** @param {() => LuaTable} read */
  #nested (read) {
    if (++this.#depth > DEEPEST) throw failure(`Found too many nested data structures (${this.#depth})`)
    const table = read()
    this.#depth--
    return table
  }

  #object () {
    const table = new LuaTable()
    let token = this.#token()
    if (token.type === 'T_OBJ_END') return table
    for (;;) {
      if (token.type !== 'T_STRING') throw this.#unexpected('object key string', token)
      const key = token.value
      token = this.#token()
      if (token.type !== 'T_COLON') throw this.#unexpected('colon', token)
      table.set(key, this.#value(this.#token()))
      token = this.#token()
      if (token.type === 'T_OBJ_END') return table
      if (token.type !== 'T_COMMA') throw this.#unexpected('comma or object end', token)
      token = this.#token()
    }
  }

  #list () {
    const table = new LuaTable()
    let token = this.#token()
    if (token.type === 'T_ARR_END') return table
    for (let i = 1; ; i++) {
      table.set(i, this.#value(token))
      token = this.#token()
      if (token.type === 'T_ARR_END') return table
      if (token.type !== 'T_COMMA') throw this.#unexpected('comma or array end', token)
      token = this.#token()
    }
  }

  /** @returns {Token} */
  #token () {
    const { text } = this
    while (/[ \t\n\r]/.test(text[this.#at] ?? '')) this.#at++
    const at = this.#at
    const c = text[at] ?? '\0'
    if (c === '\0') return { type: 'T_END', at }
    const sign = SIGNS[c]
    if (sign) {
      this.#at++
      return { type: sign, at }
    }
    if (c === '"') return this.#string()
    for (const [word, type, value] of WORDS) {
      if (text.startsWith(word, at)) {
        this.#at += word.length
        return { type, value, at }
      }
    }
    const [value, end] = (/[-+0-9iInN]/.test(c) && readNumber(text, at)) || [0, -1]
    if (end === -1) return { type: 'T_ERROR', value: /[-+0-9]/.test(c) ? 'invalid number' : 'invalid token', at }
    this.#at = end
    return { type: 'T_NUMBER', value, at }
  }

  /** @returns {Token} */
  #string () {
    const { text } = this
    const start = this.#at
    const wrong = (/** @type {string} */ value) => ({ type: 'T_ERROR', value, at: this.#at })
    let read = ''
    for (this.#at++; text[this.#at] !== '"'; this.#at++) {
      const c = text[this.#at] ?? '\0'
      if (c === '\0') return wrong('unexpected end of string')
      if (c !== '\\') {
        read += c
        continue
      }
      const escaped = text[this.#at + 1] ?? '\0'
      if (escaped === 'u') {
        const code = this.#codePoint()
        if (code === undefined) return wrong('invalid unicode escape code')
        read += utf8(code)
        continue
      }
      const meant = UNESCAPED[escaped]
      if (meant === undefined) return wrong('invalid escape code')
      read += meant
      this.#at++
    }
    this.#at++
    return { type: 'T_STRING', value: read, at: start }
  }

  /** Reads the \u of one character, up to its last digit. */
  #codePoint () {
    const match = /^\\u([0-9a-f]{4})(?:\\u([0-9a-f]{4}))?/i.exec(this.text.slice(this.#at, this.#at + 12))
    if (!match) return
    const [high, low] = [parseInt(match[1], 16), parseInt(match[2] ?? '0', 16)]
    const isPair = high >= 0xd800 && high < 0xe000
    if (isPair && (high >= 0xdc00 || low < 0xdc00 || low >= 0xe000)) return
    this.#at += isPair ? 11 : 5
    return isPair ? 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff) : high
  }
}

/** @type {Record<string, string>} */
const SIGNS = { '{': 'T_OBJ_BEGIN', '}': 'T_OBJ_END', '[': 'T_ARR_BEGIN', ']': 'T_ARR_END', ',': 'T_COMMA', ':': 'T_COLON' }
/** @type {[word: string, type: string, value: Value][]} */
const WORDS = [['true', 'T_BOOLEAN', true], ['false', 'T_BOOLEAN', false], ['null', 'T_NULL', NULL]]
/** @type {Record<string, string>} */
const UNESCAPED = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export const cjson = library({
  decode (/** @type {Value[]} */ ...args) {
    if (args.length !== 1) throw badArgument(1, 'decode', 'expected 1 argument')
    return new Reader(stringAt(args, 1, 'decode')).read()
  },
  encode (/** @type {Value[]} */ ...args) {
    if (args.length !== 1) throw badArgument(1, 'encode', 'expected 1 argument')
    return encode(args[0], 0)
  },
  null: NULL
})

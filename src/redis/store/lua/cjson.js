import { stringAt } from './arguments.js'
import { library } from './library.js'
import { LuaTable } from './table.js'
import { failure } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/** @type {Record<string, string>} */
const ESCAPES = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' }
const ESCAPED = /[^ !#-.0-[\]-~\x80-\xff]/g

/** @param {unknown} json @returns {Value} */
function fromJson (json) {
  if (typeof json === 'string') return Buffer.from(json).toString('latin1')
  if (Array.isArray(json)) return new LuaTable(json.map(fromJson))
  if (json === null || typeof json !== 'object') return json ?? undefined
  const table = new LuaTable()
  for (const [name, value] of Object.entries(json)) table.set(fromJson(name), fromJson(value))
  return table
}

/** The part that scripts use. They read JSON of inkcast, in which null has no meaning, and they write strings. */
export const cjson = library({
  decode (/** @type {Value[]} */ ...args) {
    const text = Buffer.from(stringAt(args, 1, 'decode'), 'latin1').toString()
    try {
      return fromJson(JSON.parse(text))
    } catch (error) {
      throw error instanceof SyntaxError ? failure(error.message) : error
    }
  },
  encode (/** @type {Value} */ value) {
    if (typeof value !== 'string') throw failure('the built-in store encodes strings only')
    return `"${value.replace(ESCAPED, (c) => ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
  }
})

import { createHash } from 'node:crypto'
import { compileFunction } from 'node:vm'
import { ErrorReply } from '../resp/replies.js'
import * as access from './access.js'
import { BASE, each, MANY } from './base.js'
import { cjson } from './cjson.js'
import { generate } from './generator.js'
import { oneLine, redis, toReply } from './redis.js'
import { unknownIn } from './patterns.js'
import { strings, unknownConversion } from './strings.js'
import { LuaTable } from './table.js'
import * as values from './values.js'

/** @typedef {import('./values.js').Environment} Environment */

/** @typedef {(KEYS: LuaTable, ARGV: LuaTable) => import('./table.js').Value} Main */

/** Translated scripts by source: a process of tests, or of simulations, has many stores. @type {Map<string, Main>} */
const TRANSLATED = new Map()
/** Then the oldest goes. */
const MAX_TRANSLATED = 100
/** Steps of a script: turns of loops, and calls of its functions. A second or so. */
const MAX_STEPS = 20_000_000

/** Global variables, and the members of libraries by their path. @type {Map<string, import('./table.js').Value>} */
const GLOBALS = new Map(Object.entries({ ...BASE, cjson, redis, string: strings }))
for (const [name, library] of [...GLOBALS]) {
  if (library instanceof LuaTable) for (const [member, value] of library.entries()) GLOBALS.set(`${name}.${member}`, value)
}

/**
 * Finds an unknown piece of a format or a pattern that is a constant.
 * @param {string} path of a function
 * @param {(string | undefined)[]} args
 */
function unknown (path, [first = '', second = '']) {
  const isPattern = ['string.gmatch', 'string.gsub', 'string.match'].includes(path)
  const piece = isPattern ? unknownIn(second) : path === 'string.format' ? unknownConversion(first) : undefined
  return piece && `${piece} in a ${isPattern ? 'pattern' : 'format'}`
}

const HELPERS = { ...values, ...access, each }

/**
 * Compiles a script of Redis, which is Lua 5.1, to a function of JavaScript.
 * Why: docs/internals/decisions/0162-built-in-store.md
 *
 * @param {string} source bytes
 * @returns {(environment: Environment) => import('../resp/replies.js').Reply}
 * @throws {ErrorReply} if it is no Lua, or has what no script of inkcast uses
 */
export function compile (source) {
  const main = translate(source)
  const sha = createHash('sha1').update(source, 'latin1').digest('hex')
  return (environment) => {
    const { running } = values
    running.steps = MAX_STEPS
    running.environment = environment
    try {
      return toReply(values.first(main(new LuaTable([...environment.keys]), new LuaTable([...environment.args]))))
    } catch (error) {
      return new ErrorReply(oneLine(messageOf(error, sha)))
    } finally {
      running.environment = undefined
    }
  }
}

/** @param {string} source @returns {Main} */
function translate (source) {
  let main = TRANSLATED.get(source)
  if (main === undefined) {
    main = generateMain(source)
    TRANSLATED.set(source, main)
    const [oldest] = TRANSLATED.keys()
    if (TRANSLATED.size > MAX_TRANSLATED) TRANSLATED.delete(oldest)
  }
  return main
}

/** @param {string} source @returns {Main} */
function generateMain (source) {
  try {
    const code = generate(source, { globals: GLOBALS, many: MANY, helpers: Object.keys(HELPERS), unknown })
    // Safe: what a script says gets into the code as names that begin with $, and as numbers and strings that JSON has
    // quoted; no other name can be reached. compileFunction is used because it sets the name of the file.
    return compileFunction(code, ['helpers', 'globals'], { filename: values.FILE })(HELPERS, GLOBALS)
  } catch (error) {
    const { line = 1, message } = /** @type {Error & { line?: number }} */ (error)
    // a deep script ends the stack of luaparse, of the generator or of JavaScript's own parser
    const said = error instanceof RangeError ? 'chunk has too many syntax levels' : message
    if (said === message && !('line' in /** @type {object} */ (error))) throw error
    throw new ErrorReply(oneLine(`ERR Error compiling script (new function): ${values.FILE}:${line}: ${
      said.replace(/^\[\d+:\d+\] /, '').replace('<expression> expected', 'unexpected symbol')}`))
  }
}

/** @param {unknown} error of a run @param {string} sha of the script @returns {string} as Redis words it */
function messageOf (error, sha) {
  if (error instanceof values.TooLong) return `ERR the script made more than ${MAX_STEPS} steps`
  if (error instanceof values.LuaError) {
    const { value, line } = error
    const message = value instanceof LuaTable ? value.get('err') ?? 'ERR unknown error' : `ERR ${values.tostring(value)}`
    return `${message} script: ${sha}, on @${values.FILE}:${line}.`
  }
  // also a SyntaxError, of a regular expression near the end of the stack
  if (/** @type {Error} */ (error).message.includes('call stack')) return 'ERR stack overflow'
  if (error instanceof RangeError) return 'ERR not enough memory'
  throw error
}

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compile } from '../../../../src/redis/store/lua/compile.js'
import { ErrorReply } from '../../../../src/redis/store/resp/replies.js'

const FOLDER = new URL('../../../../src/redis/scripts/', import.meta.url)
/** @param {string} file @returns {string} */
const read = (file) => readFileSync(new URL(file, FOLDER), 'latin1')
  .replace(/^--@include (\w+)$/gm, (_, name) => read(`include/${name}.lua`))

/**
 * @param {string} source @param {Partial<import('../../../../src/redis/store/lua/compile.js').Environment>}
 *   [environment]
 */
const run = (source, environment) =>
  compile(source)({ keys: [], args: [], call: () => null, allowed: () => true, ...environment })

test('each script of inkcast is compiled', () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.lua'))
  assert.ok(files.length > 30)
  for (const file of files) assert.equal(typeof compile(read(file)), 'function', file)
})

test('a construct that no script uses fails when it is loaded, with its line', () => {
  for (const [construct, named] of Object.entries({
    'coroutine.wrap(f)': 'coroutine', 'string.len(f)': 'string.len', 'os.clock()': 'os', 'math.random()': 'math.random',
    'redis.setresp(3)': 'redis.setresp', 'local _ = _G': '_G', 'local a = ...': 'VarargLiteral', 'pcall(f)': 'pcall', 'f:g()': 'a method',
    'local function f (...) end': '...', 'function f () end': 'a function that is not local', 'do end': 'DoStatement',
    'local a = 2 ^ 2': '^',
    'repeat until true': 'RepeatStatement', 'local a = { [1] = 2 }': 'a key in brackets', 'f {}': 'TableCallExpression',
    'local a = { b = 1, f() }': 'several values behind a named one in a table', 'string.format("%.2d", 1)': '%. in a format',
    'string.match("", "%b()")': '%b in a pattern', 'string.gmatch("", "[a-c]")': '[ in a pattern',
    'string.gsub("", "()", "")': '() in a pattern'
  })) {
    assert.throws(() => compile(`local f if false then\n${construct} end`), new ErrorReply(
      `ERR Error compiling script (new function): user_script:2: the built-in store does not know ${named}`), construct)
  }
})

test('what is no Lua fails when it is loaded', () => {
  for (const source of ['return 1 +', 'goto a', 'x', 'local 1', 'return "', 'if', 'break', 'return ::a::', '('.repeat(20_000)]) {
    assert.throws(() => compile(source), { message: /^ERR Error compiling script \(new function\): user_script:1: / }, source)
  }
})

test('a script that is nested too deep fails when it is loaded, wherever the stack ends', () => {
  for (const [open, close] of [['{', '}'], ['1 + (', ')'], ['f(', ')'], ['#', '']]) {
    // the stack of the generator, of JavaScript's parser or of luaparse is the first to end, by the number of levels
    for (let levels = 700; levels <= 4_000; levels *= 1.3) {
      const source = `local f return ${open.repeat(levels)}1 ${close.repeat(levels)}`
      try {
        compile(source)
      } catch (error) {
        assert.ok(error instanceof ErrorReply, `${open} ${levels}: ${error}`)
        assert.match(error.message, /too many syntax levels/)
      }
    }
  }
})

test('an endless script ends', () => {
  for (const source of ['while true do end', 'for i = 2, 1, 0 do end']) {
    assert.equal(/** @type {ErrorReply} */ (run(source)).message, 'ERR the script made more than 20000000 steps', source)
  }
})

test('an endless recursion ends', () => {
  assert.equal(/** @type {ErrorReply} */ (run('local function f () return f() end return f()')).message, 'ERR stack overflow')
})

test('what only a run shows to be unknown is an error of the script', () => {
  for (const call of [
    'string.match("a", ARGV[1])', 'string.format(ARGV[1], 1)', 'string.find("a", "a")', 'string.gmatch("a", "^a")', 'cjson.encode({})',
    'next({1}, 1)',
    'tonumber("a", 16)', 'unpack({1}, 1)', 'table.insert({}, 1, 2)'
  ]) {
    const { message } = /** @type {ErrorReply} */ (run(`return ${call}`, { args: ['%x'] }))
    assert.match(message, /^ERR user_script:1: the built-in store .* on @user_script:1\.$/, call)
  }
})

test('a script reaches nothing of JavaScript', () => {
  const names = ['globalThis', 'process', 'constructor', 'helpers', 'globals', 'add', 't', 'main', '__proto__', 'undefined']
  for (const name of names) {
    const { message } = /** @type {ErrorReply} */ (run(`return ${name}`))
    assert.match(message, new RegExp(`attempted to access nonexistent global variable '${name}'`))
    assert.equal(run(`local ${name} = 1 return ${name}`), 1)
    assert.equal(run(`local a = {${name} = 2} return a.${name}`), 2)
    assert.equal(run(`local a = {} return a.${name}`), null)
    assert.equal(run(`local a = 'text' return a.${name}`), null)
  }
  for (const text of ['`${1}`', '\\\'); process.exit(1); (\\\'', '\\\\']) {
    assert.equal(run(`return '${text}'`), text.replaceAll(/\\(.)/g, '$1'))
  }
})

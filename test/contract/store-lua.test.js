import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { compile } from '../../src/redis/store/lua/compile.js'
import { ErrorReply, Status } from '../../src/redis/store/resp/replies.js'
import { fileScope } from '../helpers/file-scope.js'
import { generateCases } from '../helpers/lua-cases.js'
import { seededRandom } from '../helpers/random.js'
import { startRedis } from '../services/redis.js'

const SEED = Number(process.env.LUA_SEED ?? 33)
const CASES = Number(process.env.LUA_CASES ?? 6_000)

const scope = fileScope()
const server = await startRedis()
scope.after(() => server.stop())

/** A reply with RESP2. @param {any} reply @returns {string} */
function encode (reply) {
  if (reply === null) return '$-1\r\n'
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (typeof reply === 'number' || typeof reply === 'bigint') return `:${reply}\r\n`
  if (reply instanceof Status) return `+${reply.text}\r\n`
  if (reply instanceof ErrorReply) return `-${reply.message}\r\n`
  return `*${reply.length}\r\n${reply.map(encode).join('')}`
}

/** Where a reply ends. @param {string} text @param {number} at @returns {number} -1: it is not complete */
function endOf (text, at) {
  const end = text.indexOf('\r\n', at)
  if (end === -1) return -1
  const size = Number(text.slice(at + 1, end))
  if (text[at] === '$' && size >= 0) return end + size + 4 <= text.length ? end + size + 4 : -1
  let next = end + 2
  if (text[at] === '*') for (let i = 0; i < size && next !== -1; i++) next = endOf(text, next)
  return next
}

/** Runs scripts in Redis. @param {string[]} scripts @returns {Promise<string[]>} their replies, as sent */
async function runInRedis (scripts) {
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1')
  /** @type {string[]} */
  const replies = []
  let text = ''
  let sent = 0
  const send = () => {
    for (; sent < scripts.length && sent < replies.length + 200; sent++) {
      socket.write(`*4\r\n$4\r\nEVAL\r\n$${scripts[sent].length}\r\n${scripts[sent]}\r\n$1\r\n0\r\n$1\r\na\r\n`, 'latin1')
    }
  }
  send()
  for await (const chunk of socket) {
    text += chunk
    let at = 0
    for (let end; at < text.length && (end = endOf(text, at)) !== -1; at = end) replies.push(text.slice(at, end))
    text = text.slice(at)
    if (replies.length === scripts.length) break
    send()
  }
  socket.destroy()
  return replies
}

/** @param {string[]} args @returns {import('../../src/redis/store/resp/replies.js').Reply} */
function call ([name, ...args]) {
  if (name === 'PING' && args.length < 2) return args[0] ?? new Status('PONG')
  if (name === 'PING') return new ErrorReply('ERR wrong number of arguments for \'ping\' command')
  if (name === 'ECHO' && args.length === 1) return args[0]
  if (name === 'GET' && args.length === 1) return null
  if (name === 'HMGET' && args.length > 1) return args.slice(1).map(() => null)
  if (['ECHO', 'GET', 'HMGET'].includes(name)) return new ErrorReply('ERR Wrong number of args calling Redis command from script')
  return new ErrorReply('ERR Unknown Redis command called from script')
}

/** @param {string} script */
function runHere (script) {
  try {
    return encode(compile(script)({ keys: [], args: ['a'], call, allowed: () => true }))
  } catch (error) {
    if (error instanceof ErrorReply) return encode(error)
    throw error
  }
}

/** The sign of NaN differs, and where a stack ends. @param {string} reply */
const comparable = (reply) => !/nan|stack overflow/i.test(reply) ? reply : reply
  .replace(/^.*stack overflow.*\r\n$/, '').replace(/[-+ ]*nan/gi, 'nan').replace(/[$s]\d+(?=[:\r])/g, '')

test('scripts have the same replies here and in Redis, errors as well', async () => {
  const cases = generateCases(seededRandom(SEED), CASES)
  console.log(`seed ${SEED}, ${CASES} snippets`)
  const expected = await runInRedis(cases)
  assert.equal(expected.length, cases.length)
  const different = cases.flatMap((script, i) => {
    const reply = runHere(script)
    if (comparable(reply) === comparable(expected[i])) return []
    return [{ here: reply, redis: expected[i], script: script.slice(script.indexOf('\n')) }]
  })
  assert.deepEqual(different.slice(0, 20), [], `${different.length} of ${cases.length} differ`)
})

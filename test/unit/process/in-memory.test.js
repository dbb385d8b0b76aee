import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRedis } from '../../../src/operate/cli/check/redis.js'
import { reportInMemory } from '../../../src/operate/roles/in-memory.js'

/** @param {boolean} production @returns {string[][]} level and text of each line */
function linesOf (production) {
  /** @type {string[][]} */
  const lines = []
  const write = (/** @type {string} */ level) =>
    /** @type {any} */ ((/** @type {string} */ text) => lines.push([level, text]))
  reportInMemory({ production }, { info: write('info'), warn: write('warn') })
  return lines
}

const config = (/** @type {boolean} */ production) => /** @type {any} */ ({ redis: { urls: [] }, production })

test('a start in production without REDIS_URL warns in one line what that means and what to set', () => {
  const [[level, text], ...more] = linesOf(true)
  assert.deepEqual([level, more], ['warn', []])
  for (const part of [/one process/, /logs in memory/, /nothing survives a restart/, /set REDIS_URL/]) assert.match(text, part)
  assert.doesNotMatch(text, /\n/)
})

test('in development the same line is no warning', () => {
  const [[, warning]] = linesOf(true)
  assert.deepEqual(linesOf(false), [['info', warning]])
})

test('inkcast check warns in production without REDIS_URL, and says what to set', async () => {
  const [{ level, text, todo }, ...more] = await checkRedis(config(true), /** @type {any} */ (null))
  assert.deepEqual([level, more], ['warning', []])
  assert.match(text, /one process .* logs in memory, and nothing survives a restart/)
  assert.match(String(todo), /set REDIS_URL/)
})

test('inkcast check does not warn in development', async () => {
  const [{ level }] = await checkRedis(config(false), /** @type {any} */ (null))
  assert.equal(level, 'ok')
})

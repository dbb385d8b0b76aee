import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig, readSettings } from '../../../src/config/load.js'

/** @param {Record<string, string>} env */
const problemsOf = (env) => readSettings({ env }).problems

test('REDIS_PREFIX is a name, with single colons, without what Redis or Redis Cluster reads as more', () => {
  for (const prefix of ['inkcast', 'shop', 'shop:eu', 'a.b-c_d', 'x'.repeat(64)])
    assert.equal(loadConfig({ env: { REDIS_PREFIX: prefix } }).redis.prefix, prefix)
  assert.equal(loadConfig({ env: {} }).redis.prefix, 'inkcast')
  for (const [prefix, reason] of [
    ['{shop}', 'Redis Cluster'], ['shop}', 'Redis Cluster'], ['shop:', 'last colon'], [':shop', 'letters'], ['a::b', 'single colons'],
    ['sh*p', 'letters'], ['my shop', 'letters'], ['café', 'letters'], ['x'.repeat(65), '64 characters']
  ]) {
    const problems = problemsOf({ REDIS_PREFIX: prefix })
    assert.ok(problems.some((problem) => problem.startsWith(`REDIS_PREFIX=${prefix}: `) && problem.includes(reason)), problems.join())
  }
})

test('channels of rooms and emitters are apart as well: their names begin with the prefix', () => {
  assert.equal(loadConfig({ env: {} }).extensions.channelPrefix, 'inkcast:rooms')
  assert.equal(loadConfig({ env: { REDIS_PREFIX: 'shop' } }).extensions.channelPrefix, 'shop:rooms')
  assert.deepEqual(problemsOf({ ROOMS_CHANNEL_PREFIX: 'socket.io', EMITTER_KEY: 'socket.io' }), [])
  assert.deepEqual(problemsOf({ REDIS_PREFIX: 'shop', ROOMS_CHANNEL_PREFIX: 'shop:io', EMITTER_KEY: 'shop:emitter' }), [])
  const problems = problemsOf({ REDIS_PREFIX: 'shop', ROOMS_CHANNEL_PREFIX: 'shop2:io', EMITTER_KEY: 'socket.io' })
  assert.deepEqual(problems.map((problem) => problem.split(': ')[0]), ['ROOMS_CHANNEL_PREFIX=shop2:io', 'EMITTER_KEY=socket.io'])
})

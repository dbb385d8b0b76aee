import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createRedisClientMetrics } from '../../../src/observe/metrics/redis-client.js'

/** @param {{ get: () => Promise<{ values: any[] }> }} metric */
const valuesOf = async (metric) => Object.fromEntries((await metric.get()).values
  .map(({ metricName, labels: { role: _role, ...own }, value }) => [Object.values(own).join() || metricName, value]))

function withResolvers () {
  let resolve = (/** @type {unknown} */ _value) => {}
  const promise = new Promise((take) => { resolve = take })
  return { promise, resolve }
}

function start () {
  const metrics = createMetrics({ processMetrics: false })
  const clock = { monotonic: () => now }
  let now = 0
  const counted = createRedisClientMetrics({ metrics, scripts: new Map([['5ad', 'inkcast_publish']]), clock })
  return { metrics, counted, pass: (/** @type {number} */ ms) => { now += ms } }
}

test('commands are counted by name, scripts by theirs, and one in 16 is measured', async () => {
  const { metrics, counted, pass } = start()
  for (let i = 0; i < 33; i++) {
    const { promise, resolve } = withResolvers()
    counted.sent({ name: i % 2 === 0 ? 'evalsha' : 'GET', args: ['5ad'], promise })
    pass(3)
    resolve(undefined)
    await promise
  }
  await metrics.collect()
  assert.deepEqual(await valuesOf(metrics.redis_commands), { inkcast_publish: 17, get: 16 })
  const measured = await valuesOf(metrics.redis_command_seconds)
  const name = 'inkcast_redis_command_seconds'
  assert.deepEqual([`${name}_count`, `${name}_sum`, '0.002', '0.004'].map((key) => measured[key]), [2, 0.006, 0, 2])
})

test('commands that wait or fail are not measured', async () => {
  const { metrics, counted } = start()
  for (let i = 0; i < 16; i++) counted.sent({ name: 'WAIT', args: [], promise: Promise.resolve() })
  for (let i = 0; i < 16; i++) {
    const promise = Promise.reject(new Error('lost'))
    promise.catch(() => {})
    counted.sent({ name: 'get', args: [], promise })
  }
  await new Promise((resolve) => { setImmediate(resolve) })
  assert.equal((await valuesOf(metrics.redis_command_seconds)).inkcast_redis_command_seconds_count, 0)
})

test('errors have the code of the reply; text of a server never becomes a label', async () => {
  const { metrics, counted } = start()
  const reply = (/** @type {string} */ text) => Object.assign(new Error(text), { name: 'ReplyError' })
  for (const text of ['OOM command not allowed', 'READONLY You can\'t', 'OOM again', 'MINE own text'])
    counted.failed(reply(text))
  counted.failed(new Error('Connection is closed.'))
  assert.deepEqual(await valuesOf(metrics.redis_command_errors), { OOM: 2, READONLY: 1, other: 1, connection: 1 })
})

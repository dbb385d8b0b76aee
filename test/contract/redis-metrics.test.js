import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { redisClusterUrl } from '../helpers/env.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/** @param {{ get: () => Promise<{ values: any[] }> }} metric */
const valuesOf = async (metric) => Object.fromEntries((await metric.get()).values
  .map(({ metricName, labels: { role: _role, ...own }, value }) => [Object.values(own).join() || metricName, value]))

/** @param {import('node:test').TestContext} t @param {string} url */
async function connect (t, url) {
  const metrics = createMetrics({ processMetrics: false })
  const redis = testRedis({ urls: url.split(','), name: 'test', log: recordingLog().log, metrics })
  t.after(() => redis.stop())
  await redis.start()
  return { redis, metrics }
}

test('commands, pipelines and scripts are counted and measured; failures by the code of the reply', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const { redis, metrics } = await connect(t, server.url)
  for (let i = 0; i < 10; i++) await redis.client.set('a', String(i))
  const pipeline = redis.client.pipeline()
  for (let i = 0; i < 90; i++) pipeline.set('a', String(i))
  await pipeline.exec()
  await redis.scripts.versions(['nothing'], [])
  await assert.rejects(redis.client.call('NOSUCH'))
  await metrics.collect()
  const { set, inkcast_versions: versions, nosuch } = await valuesOf(metrics.redis_commands)
  assert.deepEqual([set, versions, nosuch], [100, 1, 1])
  assert.deepEqual(await valuesOf(metrics.redis_command_errors), { ERR: 1 })
  const measured = (await valuesOf(metrics.redis_command_seconds)).inkcast_redis_command_seconds_count
  assert.ok(measured >= 6 && measured <= 10, String(measured))
})

test('connections are counted, and those that come back; pending commands too', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const { redis, metrics } = await connect(t, server.url)
  await redis.channels.subscribe('inkcast:{w:1}', () => {})
  const rooms = redis.subscribePatterns(['test:'], () => {})
  t.after(() => rooms.stop())
  await rooms.start()
  const connections = async () => {
    await metrics.collect()
    return valuesOf(metrics.redis_connections)
  }
  await waitFor(async () => (await connections()).subscriber === 1, { message: connections })
  assert.equal((await connections()).commands, 1)
  const pending = async () => {
    await metrics.collect()
    return (await metrics.redis_commands_pending.get()).values[0].value
  }
  const answer = redis.client.get('a')
  assert.equal(await pending(), 1)
  await answer
  await assert.rejects(redis.client.call('set', 'a'))
  await waitFor(async () => await pending() === 0, { message: pending })
  assert.deepEqual(await valuesOf(metrics.redis_reconnects), {})
  await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
  redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => {})
  const reconnects = () => valuesOf(metrics.redis_reconnects)
  await waitFor(async () => {
    const { commands, subscriber, rooms } = await reconnects()
    return commands >= 1 && subscriber >= 1 && rooms >= 1
  }, { timeout: 20_000, message: reconnects })
  await waitFor(async () => await pending() === 0, { message: pending })
})

test('with Redis Cluster each command is counted once', async (t) => {
  const { redis, metrics } = await connect(t, redisClusterUrl())
  const connections = async () => {
    await metrics.collect()
    return (await valuesOf(metrics.redis_connections)).commands
  }
  // ioredis sends a command of a node that still connects once more, when it is connected
  await waitFor(async () => await connections() >= 3, { message: connections })
  for (let i = 0; i < 60; i++) await redis.client.get(`inkcast-test-${i}`)
  await metrics.collect()
  assert.equal((await valuesOf(metrics.redis_commands)).get, 60)
  await assert.rejects(redis.client.call('set', 'inkcast-test'))
  assert.deepEqual(await valuesOf(metrics.redis_command_errors), { ERR: 1 })
})

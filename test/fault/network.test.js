/**
 * Networks that pass nothing on, or little.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../helpers/cluster.js'
import { kafkaBrokers, redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf } from '../helpers/processes.js'
import { startProxy } from '../helpers/proxy.js'
import { waitFor } from '../helpers/wait.js'
import { openScene } from './scene.js'
import { StockClient } from './stock-client.js'
import { watchUsage } from './usage.js'

const TIMEOUT = 300_000
const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))

test('a gateway is cut off from Redis for 15 s', { timeout: TIMEOUT }, async (t) => {
  const redis = await startProxy(Number(new URL(redisUrl()).port))
  t.after(() => redis.stop())
  const topics = freshTopics(t)
  const cluster = await startCluster(t, { ...topics.env, REDIS_URL: redisUrl(), WORKERS: '1' })
  const alone = await startCluster(t, { ...topics.env, REDIS_URL: `redis://127.0.0.1:${redis.port}` }, { file: GATEWAY })
  const scene = await openScene(t, { urls: [cluster.url, alone.url], apiUrl: () => cluster.apiUrl, kafka: { brokers: kafkaBrokers(), topic: topics.downlink } })
  await scene.fault('a gateway is cut off from Redis for 15 s', async () => {
    redis.hang()
    await delay(15_000)
    redis.heal()
  })
})

describe('a line of 1 KB/s', () => {
  const scope = fileScope()
  const SPEED = 1024
  const LASTS = 45_000
  /** Bytes that a process may grow by: what may wait for the client, twice, and what collectors leave. */
  const MAY_GROW = 64
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  /** @type {import('./scene.js').Scene} */
  let scene
  before(async () => {
    const topics = freshTopics(scope)
    cluster = await startCluster(scope, { ...topics.env, REDIS_URL: redisUrl(), WORKERS: '1', SLOW_TIMEOUT: '15000' })
    scene = await openScene(scope, { urls: [cluster.url], apiUrl: () => cluster.apiUrl, kafka: { brokers: kafkaBrokers(), topic: topics.downlink }, bytes: 2000 })
  }, { timeout: TIMEOUT })

  // of KINDS in stock-client.js
  for (const [name, number] of /** @type {[string, number][]} */ ([['WebSocket', 0], ['long polling', 6]])) {
    test(name, { timeout: TIMEOUT }, async (t) => {
      const line = await startProxy(cluster.port)
      t.after(() => line.stop())
      const slow = new StockClient({ url: `http://127.0.0.1:${line.port}`, number, guids: scene.guids }, () => {})
      t.after(() => slow.close())
      await waitFor(() => slow.ready, { timeout: 20_000, message: 'the slow client to join' })
      // the first record of each document says where it begins
      scene.publisher.start()
      await waitFor(() => [...slow.documents.values()].every(({ last }) => last > 0), { timeout: 20_000, message: 'the slow client to get something' })
      await scene.publisher.stop()

      const [gateway] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
      const usage = watchUsage([gateway.pid])
      let seen = { before: 0, most: 0, busiest: 0 }
      await scene.fault(`a client with a line of 1 KB/s, ${name}`, async () => {
        line.throttle(SPEED)
        await delay(LASTS)
        line.heal()
        line.throttle(Infinity)
      }, { more: () => ({ 'gateway worker before, MB': (seen = usage.stop()).before, 'gateway worker at most, MB': seen.most, 'connections of the slow client': slow.connects }) })
      const { published } = scene.publisher
      await waitFor(() => slow.missing(published) === 0, { timeout: 60_000, message: () => `${slow.missing(published)} records missing` })
      assert.deepEqual([...slow.documents.values()].flatMap(({ faults }) => faults), [])
      assert.ok(seen.most - seen.before < MAY_GROW, `from ${seen.before} to ${seen.most} MB`)
    })
  }
})

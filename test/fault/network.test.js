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
import { createClientPool } from './client-pool.js'
import { openScene, say } from './scene.js'
import { watchUsage } from './usage.js'

const TIMEOUT = 300_000
const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))

test('a gateway is cut off from Redis for 15 s', { timeout: TIMEOUT }, async (t) => {
  const redis = await startProxy(Number(new URL(redisUrl()).port))
  t.after(() => redis.stop())
  const topics = freshTopics(t)
  const cluster = await startCluster(t, { ...topics.env, REDIS_URL: redisUrl(), WORKERS: '1' })
  const alone = await startCluster(
    t,
    { ...topics.env, REDIS_URL: `redis://127.0.0.1:${redis.port}` },
    { file: GATEWAY }
  )
  const scene = await openScene(t, {
    urls: [cluster.url, alone.url],
    apiUrl: () => cluster.apiUrl,
    kafka: { brokers: kafkaBrokers(), topic: topics.downlink }
  })
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
  /** Allowed growth of a process, MB: twice the backlog of the client, and garbage that is not collected yet. */
  const MAY_GROW = 64
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  /** @type {import('./scene.js').Scene} */
  let scene
  before(async () => {
    const topics = freshTopics(scope)
    cluster = await startCluster(scope, { ...topics.env, REDIS_URL: redisUrl(), WORKERS: '1' })
    scene = await openScene(scope, {
      urls: [cluster.url],
      apiUrl: () => cluster.apiUrl,
      kafka: { brokers: kafkaBrokers(), topic: topics.downlink },
      bytes: 2000
    })
  }, { timeout: TIMEOUT })

  // numbers of KINDS in stock-client.js
  for (const [name, number] of /** @type {[string, number][]} */ ([['WebSocket', 0], ['long polling', 6]])) {
    test(name, { timeout: TIMEOUT }, async (t) => {
      const before = scene.publisher.published
      const line = await startProxy(cluster.port)
      t.after(() => line.stop())
      const slow = createClientPool(t, 1)
      await slow.open({ url: `http://127.0.0.1:${line.port}`, guids: [scene.guids], first: number })
      const complete = async () => (await slow.progress(scene.publisher.published)).missing === 0
      // the first record of each document sets where its numbers begin
      scene.publisher.start()
      await waitFor(() => scene.guids.every((guid) => scene.publisher.published[guid] > before[guid]), {
        timeout: 20_000,
        message: 'every document to be published'
      })
      await scene.publisher.stop()
      await waitFor(complete, { timeout: 20_000, message: 'the slow client to receive from every document' })

      const [gateway] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
      const usage = watchUsage([gateway.pid])
      let seen = { before: 0, most: 0 }
      await scene.fault(
        `a client with a line of 1 KB/s, ${name}`,
        async () => {
          line.throttle(SPEED)
          await delay(LASTS)
          line.heal()
          line.throttle(Infinity)
        },
        {
          more: () => ({
            'gateway worker before, MB': (seen = usage.stop()).before,
            'gateway worker at most, MB': seen.most
          })
        }
      )
      await waitFor(complete, { timeout: 60_000, message: 'the slow client to receive everything' })
      const { clients: [report] } = await slow.report()
      assert.deepEqual(report.details, [])
      say(
        `the slow client received ${report.received} records over ${report.connects} connections, dropped ${report.repeated}, and got ${report.resyncs} resyncs`
      )
      assert.ok(seen.most - seen.before < MAY_GROW, `from ${seen.before} to ${seen.most} MB`)
    })
  }
})

/**
 * Redis outages, with and without loss of its data.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { kafkaBrokers } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { startRedis } from '../services/redis.js'
import { openClusterScene } from './scene.js'

const TIMEOUT = 240_000

describe('redis', () => {
  const scope = fileScope()
  /** @type {import('../services/redis.js').RedisServer} */
  let server
  /** @type {Redis} */
  let redis
  /** @type {import('./scene.js').Scene} */
  let scene
  before(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes'] })
    scope.after(() => server.stop())
    redis = new Redis(server.url, { retryStrategy: () => 200 })
    redis.on('error', () => {})
    scope.after(() => redis.disconnect())
    const topics = freshTopics(scope)
    scene = await openClusterScene(
      scope,
      { ...topics.env, REDIS_URL: server.url },
      { brokers: kafkaBrokers(), topic: topics.downlink }
    )
  }, { timeout: TIMEOUT })

  test('CLIENT KILL TYPE pubsub, five times', { timeout: TIMEOUT }, () =>
    scene.fault('Redis: CLIENT KILL TYPE pubsub, five times', async () => {
      for (let times = 0; times < 5; times++) {
        const killed = await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
        assert.ok(Number(killed) >= 2, `${killed} connections`)
        await delay(1000)
      }
    })
  )

  test('restart, memory kept', { timeout: TIMEOUT }, () =>
    scene.fault('Redis: restart, memory kept', () => server.restart(), { resyncs: 'some' })
  )

  test('stopped for 30 s, memory kept', { timeout: TIMEOUT }, () =>
    scene.fault(
      'Redis: stopped for 30 s, memory kept',
      async () => {
        await server.kill('SIGTERM')
        await delay(30_000)
        await server.restart()
      },
      { resyncs: 'some' }
    )
  )

  test('hangs for 10 s', { timeout: TIMEOUT }, () => scene.fault('Redis: hangs for 10 s', async () => {
    await server.kill('SIGSTOP')
    await delay(10_000)
    await server.kill('SIGCONT')
  }))

  test('FLUSHALL', { timeout: TIMEOUT }, () =>
    scene.fault('Redis: FLUSHALL', () => redis.flushall(), { resyncs: 'all' })
  )

  test('stopped for 30 s, memory lost', { timeout: TIMEOUT }, () =>
    scene.fault(
      'Redis: stopped for 30 s, memory lost',
      async () => {
        await redis.flushall()
        await server.kill('SIGTERM')
        await delay(30_000)
        await server.restart()
      },
      { resyncs: 'all' }
    )
  )
})

/**
 * Without Kafka: the master of Redis dies, and a replica that lags takes over behind the same address. Nothing that was
 * acknowledged with PUBLISH_WAIT=replicas is lost. FAULT_PUBLISH_WAIT=none shows what is lost without it.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { startRelay } from '../helpers/relay.js'
import { adminOf, replicate } from '../helpers/replicated-redis.js'
import { startRedis } from '../services/redis.js'
import { sendMessages } from './acknowledged.js'
import { openScene } from './scene.js'

const TIMEOUT = 240_000
const PUBLISH_WAIT = process.env.FAULT_PUBLISH_WAIT ?? 'replicas'
/** How late the replica gets each write, and the master its confirmation, ms. */
const LAG = 50
const HISTORY_SIZE = 100_000

describe('redis without Kafka', () => {
  const scope = fileScope()
  /** @type {import('../services/redis.js').RedisServer[]} */
  let servers
  /** @type {import('ioredis').Redis[]} */
  let admins
  let leadsTo = 0
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  /** @type {import('./scene.js').Scene} */
  let scene

  before(async () => {
    servers = await Promise.all([0, 1, 2].map(() => startRedis({ args: ['--repl-diskless-sync-delay', '0'] })))
    for (const server of servers) scope.after(() => server.stop())
    admins = servers.map((server) => adminOf(scope, server))
    const late = await startRelay(servers[0].port, (one, other) => {
      for (const [from, to] of [[one, other], [other, one]])
        from.on('data', (chunk) => { setTimeout(() => to.write(chunk), LAG) })
    })
    scope.after(() => late.stop())
    await replicate(admins[1], late)
    leadsTo = servers[0].port
    const address = await startRelay(() => leadsTo, (client, upstream) => { client.pipe(upstream).pipe(client) })
    scope.after(() => address.stop())
    cluster = await startCluster(scope, {
      WORKERS: '2', REDIS_URL: `redis://127.0.0.1:${address.port}`, PUBLISH_WAIT, UPLINK_GROUPS: 'service',
      HISTORY_SIZE: String(HISTORY_SIZE)
    })
    scene = await openScene(scope, {
      urls: [cluster.url], apiUrl: () => cluster.apiUrl, clients: 100, documents: 40, perSecond: 200
    })
  }, { timeout: TIMEOUT })

  test('a replica takes over', { timeout: TIMEOUT }, async (t) => {
    const messages = await sendMessages(t, { cluster, scene })
    let before = 0
    await scene.fault(
      `Redis: the master is killed, a replica ${LAG} ms behind takes over, PUBLISH_WAIT=${PUBLISH_WAIT}`,
      async () => {
        before = messages.acknowledged
        await servers[0].kill('SIGKILL')
        await admins[1].call('REPLICAOF', 'NO', 'ONE')
        leadsTo = servers[1].port
        // without another replica nothing is confirmed
        await delay(2000)
        await replicate(admins[2], servers[1])
      },
      { resyncs: 'some', republished: true }
    )
    assert.ok(before > 20 && messages.acknowledged > before, `${before} and ${messages.acknowledged} messages`)
    await messages.assertKept(admins[1])
  })
})

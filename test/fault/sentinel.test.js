/**
 * Without Kafka, with Redis Sentinel: the master dies, and later one is asked to step down. Nothing that was
 * acknowledged with PUBLISH_WAIT=replicas is lost. FAULT_PUBLISH_WAIT=none shows what is lost without it.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { adminOf } from '../helpers/replicated-redis.js'
import { waitFor } from '../helpers/wait.js'
import { MASTER_NAME, startSentinels } from '../services/sentinel.js'
import { sendMessages } from './acknowledged.js'
import { openScene } from './scene.js'

const TIMEOUT = 300_000
const PUBLISH_WAIT = process.env.FAULT_PUBLISH_WAIT ?? 'replicas'
const HISTORY_SIZE = 100_000

describe('redis sentinel', () => {
  const scope = fileScope()
  /** @type {import('../services/sentinel.js').SentinelSet} */
  let set
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  /** @type {import('./scene.js').Scene} */
  let scene

  before(async () => {
    set = await startSentinels()
    scope.after(() => set.stop())
    cluster = await startCluster(scope, {
      WORKERS: '2', REDIS_URL: set.url, PUBLISH_WAIT, UPLINK_GROUPS: 'service', HISTORY_SIZE: String(HISTORY_SIZE)
    })
    scene = await openScene(scope, {
      urls: [cluster.url], apiUrl: () => cluster.apiUrl, clients: 100, documents: 40, perSecond: 200
    })
  }, { timeout: TIMEOUT })

  /** @param {number} port the master that is replaced */
  async function successorOf (port) {
    await waitFor(async () => await set.masterPort() !== port, { timeout: 30_000, message: 'a failover' })
    const now = await set.masterPort()
    const found = set.servers.find((server) => server.port === now)
    assert.ok(found !== undefined)
    const admin = adminOf(scope, found)
    await waitFor(async () => /connected_slaves:[12]/.test(await admin.info('replication')), {
      timeout: 60_000, message: 'a replica of the new master'
    })
    return { server: found, admin }
  }

  test('the master is killed', { timeout: TIMEOUT }, async (t) => {
    const messages = await sendMessages(t, { cluster, scene })
    let before = 0
    /** @type {import('ioredis').Redis | undefined} */
    let master
    await scene.fault(`Redis Sentinel: the master is killed, PUBLISH_WAIT=${PUBLISH_WAIT}`, async () => {
      before = messages.acknowledged
      await set.servers[0].kill('SIGKILL')
      master = (await successorOf(set.servers[0].port)).admin
    }, { resyncs: 'some', republished: true })
    assert.ok(before > 20 && messages.acknowledged > before, `${before} and ${messages.acknowledged} messages`)
    await messages.assertKept(/** @type {import('ioredis').Redis} */ (master))
  })

  /** @returns {Promise<number>} port of the master, when it has two replicas */
  async function complete () {
    const port = await set.masterPort()
    const found = set.servers.find((server) => server.port === port)
    assert.ok(found !== undefined)
    const admin = adminOf(scope, found)
    await waitFor(async () => (await admin.info('replication')).match(/state=online/g)?.length === 2, {
      timeout: 60_000, message: 'two replicas'
    })
    return port
  }

  test('the master hangs, and comes back when another one has taken over', { timeout: TIMEOUT }, async (t) => {
    await set.servers[0].restart()
    const port = await complete()
    const hung = set.servers.find((server) => server.port === port)
    const messages = await sendMessages(t, { cluster, scene })
    /** @type {import('ioredis').Redis | undefined} */
    let master
    await scene.fault(`Redis Sentinel: the master hangs and comes back, PUBLISH_WAIT=${PUBLISH_WAIT}`, async () => {
      await hung?.kill('SIGSTOP')
      t.after(() => hung?.kill('SIGCONT'))
      master = (await successorOf(port)).admin
      await hung?.kill('SIGCONT')
    }, { resyncs: 'some', republished: true })
    await messages.assertKept(/** @type {import('ioredis').Redis} */ (master))
  })

  test('the master is asked to step down', { timeout: TIMEOUT }, async (t) => {
    const port = await complete()
    // the promoted replica is the first to leave: from then on the old master refuses writes
    for (const server of set.servers) await adminOf(scope, server).config('SET', 'min-replicas-to-write', '2')
    const messages = await sendMessages(t, { cluster, scene })
    const sentinel = adminOf(scope, { url: `redis://127.0.0.1:${set.sentinels[0].port}` })
    /** @type {import('ioredis').Redis | undefined} */
    let master
    await scene.fault(`Redis Sentinel: the master is asked to step down, min-replicas-to-write 2, PUBLISH_WAIT=${PUBLISH_WAIT}`,
      async () => {
        await waitFor(() => sentinel.call('SENTINEL', 'FAILOVER', MASTER_NAME), { timeout: 60_000 })
        master = (await successorOf(port)).admin
      }, { resyncs: 'some', republished: true })
    await messages.assertKept(/** @type {import('ioredis').Redis} */ (master))
  })
})

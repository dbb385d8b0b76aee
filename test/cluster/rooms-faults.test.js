import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/** Rooms of extensions, while a worker or Redis is gone and afterwards. */

const EXTENSION = fileURLToPath(new URL('../helpers/rooms-extension.js', import.meta.url))
/** Enough to have some on each of two workers. */
const CLIENTS = 24
const OUTAGE = 30_000

/** @typedef {ReturnType<typeof createClient>} Client */

/** @param {Client} client @param {string} operation @param {object} [options] */
const run = (client, operation, options = {}) => client.ask('op', operation, options)
/** @param {{ id?: string }} client */
const workerOf = (client) => String(client.id).slice(0, 2)

/**
 * @param {import('node:test').TestContext} t
 */
async function setUp (t) {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const cluster = await startCluster(t, { WORKERS: '2', REDIS_URL: redis.url, EXTENSIONS: EXTENSION })
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    const client = createClient(t, cluster.url, { reconnection: true, codec: i % 2 ? 'json' : 'msgpack' })
    // as front ends do it
    client.on('connect', () => { run(client, 'join', { rooms: ['lobby'] }).catch(() => {}) })
    return client
  })

  /** An emit to the room, fetchSockets and serverSideEmitWithAck work over all workers. */
  async function assertWorks () {
    const event = randomUUID()
    await waitFor(async () => {
      const found = await run(clients[0], 'fetch', { to: ['lobby'] })
      return found.length === CLIENTS
    }, { timeout: 60_000, message: 'all to be in the room' })
    await run(clients[0], 'emit', { to: ['lobby'], event, args: [] })
    const got = () => clients.filter(({ received }) => received.filter((each) => each.event === event).length === 1)
    await waitFor(() => got().length === CLIENTS, { message: () => got().length })
    assert.equal((await run(clients[0], 'serverSideEmitWithAck', { event: 'who', args: [1] })).length, 1)
    const answers = randomUUID()
    for (const client of clients) client.once(answers, (answer) => answer(1))
    const responses = await run(clients[0], 'emitWithAck', { to: ['lobby'], timeout: 5000, event: answers, args: [] })
    assert.equal(responses.length, CLIENTS)
  }
  await assertWorks()
  return { redis, cluster, clients, assertWorks }
}

test('a worker that is killed takes no room with it', { timeout: 180_000 }, async (t) => {
  const { cluster, clients, assertWorks } = await setUp(t)
  for (let i = 0; i < 3; i++) {
    const before = clients[0].id
    process.kill(await run(clients[0], 'pid'), 'SIGKILL')
    await waitFor(() => clients[0].connected && clients[0].id !== before, { timeout: 30_000 })
    await waitFor(cluster.ready, { timeout: 30_000, message: 'both workers' })
    await assertWorks()
  }
  assert.doesNotMatch(cluster.output(), /unhandled|uncaught/i)
})

test('rooms work again when Redis is back after 30 s', { timeout: 180_000 }, async (t) => {
  const { redis, cluster, clients, assertWorks } = await setUp(t)
  const pids = await Promise.all(clients.map((client) => run(client, 'pid')))
  await redis.kill('SIGKILL')
  const end = performance.now() + OUTAGE
  for (let i = 0; performance.now() < end; i++) {
    // clients of the same worker are reached; what needs other workers fails with a timeout
    const event = randomUUID()
    await run(clients[0], 'emit', { to: ['lobby'], event, args: [] })
    const near = clients.filter((client) => workerOf(client) === workerOf(clients[0]))
    await waitFor(() => near.every(({ received }) => received.some((each) => each.event === event)), {
      message: () => near.length
    })
    if (i === 0) {
      assert.match((await run(clients[0], 'serverSideEmitWithAck', { event: 'who', args: [1] })).error, /timeout/)
      assert.match((await run(clients[0], 'fetch', { to: ['lobby'] })).error, /timeout/)
      const ask = { to: ['lobby'], timeout: 500, event: 'ignored', args: [] }
      assert.match((await run(clients[0], 'emitWithAck', ask)).error, /timed out/)
    }
    await run(clients[0], 'socketsJoin', { to: ['lobby'], rooms: ['other'] })
    await run(clients[0], 'serverSideEmit', { args: [event] })
    // `output` keeps the last lines only
    assert.doesNotMatch(cluster.output(), /unhandled|uncaught/i)
    await delay(1000)
  }
  await redis.restart()
  await assertWorks()
  assert.deepEqual(await Promise.all(clients.map((client) => run(client, 'pid'))), pids, 'nothing was restarted')
  assert.doesNotMatch(cluster.output(), /unhandled|uncaught/i)
})

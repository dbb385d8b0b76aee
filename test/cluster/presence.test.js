import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createRedisPresence } from '../../src/presence/redis-presence.js'
import { createRedis } from '../../src/redis/client.js'
import { WORKERS } from '../../src/redis/keys.js'
import { incarnationName } from '../../src/workers/worker-watch.js'
import { createSessionIds, workerOfSid } from '../../src/wire/session-id.js'
import { connectClient, connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { recordingLog } from '../helpers/recording-log.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))
const REDIS_URL = await ownRedisUrl(fileScope())

test(
  'members of two workers form one list; a closed tab and the clients of a killed worker leave once',
  { timeout: 360_000 },
  async (t) => {
    const cluster = await startCluster(t, { WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, PRESENCE_GRACE: '1000' })
    const guid = `doc-${randomUUID()}`
    const tokens = await Promise.all(Array.from({ length: 520 }, (_, i) => signToken({ sub: `user-${i}` })))
    const clients = await connectToWorkers(t, cluster.url, 2, 12, (i) => ({ auth: { token: tokens[i] } }))
    const workerOf = (/** @type {{ id?: string }} */ { id }) => /** @type {number} */ (workerOfSid(String(id)))
    // at least two per worker: the distribution is uneven
    while (
      clients.filter((client) => workerOf(client) === workerOf(clients[0])).length < 2 ||
      clients.filter((client) => workerOf(client) !== workerOf(clients[0])).length < 2
    ) {
      assert.ok(clients.length < tokens.length, 'both workers accept connections')
      clients.push(await connectClient(t, cluster.url, { auth: { token: tokens[clients.length] } }))
    }
    const watcher = clients[0]
    const here = clients.filter((client) => client !== watcher && workerOf(client) === workerOf(watcher))
    const there = clients.filter((client) => workerOf(client) !== workerOf(watcher))
    assert.ok(here.length > 0 && there.length > 1, 'both workers have clients')

    /** @type {any[]} */
    const told = []
    watcher.on('doc:presence', (diff) => {
      told.push(diff)
    })
    const uids = () => told.flatMap(({ joined, members = [] }) => [...joined, ...members]).map(({ uid }) => uid)
    await watcher.ask('doc:join', { guid, state: { watching: true } })
    const others = [...here, ...there]
    const answers = await Promise.all(others.map((client, i) => client.ask('doc:join', { guid, state: { i } })))
    assert.ok(answers.every(({ ok }) => ok))
    await waitFor(() => told.at(-1)?.count === clients.length, {
      timeout: 20_000,
      message: () => JSON.stringify(told.at(-1))
    })
    assert.equal(new Set(uids().filter((uid) => uid !== 'user-0')).size, others.length)
    const listed = /** @type {any} */ (await (await fetch(`${cluster.apiUrl}/v1/documents/${guid}/presence`)).json())
    assert.deepEqual([listed.count, listed.members.length], [clients.length, Math.min(100, clients.length)])

    const [closed, ...rest] = there
    const closedId = closed.id
    closed.disconnect()
    await waitFor(() => told.some(({ left }) => left.includes(closedId)), {
      timeout: 20_000,
      message: 'the tab to leave'
    })
    assert.equal(told.at(-1).count, clients.length - 1)

    const redis = new Redis(REDIS_URL)
    t.after(() => redis.disconnect())
    const victim = JSON.parse(String(await redis.hget(WORKERS.owners, String(workerOf(rest[0])))))
    const gone = rest.map(({ id }) => id)
    process.kill(victim.pid, 'SIGKILL')
    // the lease ends when the replacement takes the number, or after 10 s
    await waitFor(() => told.at(-1).count === clients.length - 1 - gone.length, {
      timeout: 30_000,
      message: () => JSON.stringify(told.at(-1))
    })
    const left = told.flatMap(({ left }) => left)
    assert.deepEqual(left.sort(), [closedId, ...gone].sort())
  }
)

test(
  'a gateway that starts after another worker died cleans up after it, without a warning',
  { timeout: 180_000 },
  async (t) => {
    const { log } = recordingLog()
    const redis = createRedis({ urls: [REDIS_URL], log, name: 'dead worker', clock: systemClock, random: systemRandom })
    t.after(() => redis.stop())
    await redis.start()
    const [number, dead, guid] = [900, incarnationName(900, 7), `doc-${randomUUID()}`]
    const store = createRedisPresence({
      redis,
      workerNumber: number,
      incarnation: () => dead,
      maxMembers: 500,
      metrics: createMetrics({ processMetrics: false }),
      log,
      clock: systemClock
    })
    t.after(() => store.stop())
    await store.start()
    await store.update(guid, [{ op: '+', id: createSessionIds(number, { clock: systemClock, random: systemRandom })(), uid: 'ada', client: '', body: '{}' }])
    assert.equal((await store.page(guid, { limit: 10 })).count, 1)
    await redis.client.zadd(WORKERS.unclean, '1', dead)

    const gateway = await startCluster(t, { REDIS_URL }, { file: GATEWAY })
    await waitFor(async () => (await redis.client.zscore(WORKERS.unclean, dead)) === null, {
      timeout: 20_000,
      message: () => gateway.output()
    })
    assert.equal((await store.page(guid, { limit: 10 })).count, 0)
    assert.doesNotMatch(gateway.output(), /cleaned up|not started|is stopped/)
  }
)

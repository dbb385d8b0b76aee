import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { openClients } from '../../bench/client/open.js'
import { WebSocketClient } from '../../bench/client/websocket-client.js'
import { createRedis } from '../../src/redis/client.js'
import { documentHolders } from '../../src/redis/keys.js'
import { createRedisSessions } from '../../src/sessions/redis-sessions.js'
import { workerOfSid } from '../../src/wire/session-id.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { recordingLog } from '../helpers/recording-log.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

/**
 * Sessions and life-cycle events of two workers through Redis and Kafka; bench/sessions.js does the same with 10,000
 * connections.
 */
const CLIENTS = 200
const DOCUMENTS = 10

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startCluster>>} */
let cluster
/** @type {Awaited<ReturnType<typeof topics.collect>>} */
let uplink
const redis = createRedis({ urls: [REDIS_URL], name: 'test', log: recordingLog().log, clock: systemClock, random: systemRandom })
const store = createRedisSessions({ redis })
before(async () => {
  await redis.start()
  scope.after(() => redis.stop())
  cluster = await startCluster(scope, { WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, ...topics.env })
  uplink = await topics.collect(topics.uplink)
}, { timeout: 90_000 })

/** @param {string} run part of the ids @returns {string[]} their life-cycle events, as `operator uid guid reason` */
const events = (run) =>
  uplink
    .filter(({ headers }) => `${headers['x-uid']} ${headers['x-guid']}`.includes(run))
    .map(({ headers, value }) =>
      [headers['x-operator'], headers['x-uid'], headers['x-guid'], JSON.parse(String(value)).reason]
        .filter((part) => part !== undefined)
        .join(' ')
        .replaceAll(run, '')
        .trim()
    )

/** @param {string} uid */
const sessionsOf = async (uid) =>
  /** @type {any} */ (await (await fetch(`${cluster.apiUrl}/v1/users/${uid}/sessions`)).json()).sessions

test(
  'the api lists the sessions of a user on two workers, and events report their life cycle',
  { timeout: 180_000 },
  async (t) => {
    const run = `-${randomUUID()}`
    const [uid, guid] = [`ada${run}`, `a${run}`]
    const token = await signToken({ sub: uid })
    /** @type {Awaited<ReturnType<typeof connectClient>>[]} */
    const tabs = []
    while (tabs.length < 2 || new Set(tabs.map(({ id }) => workerOfSid(String(id)))).size < 2) {
      assert.ok(tabs.length < 200, 'one worker gets all connections')
      tabs.push(await connectClient(t, cluster.url, { auth: { token, client: `tab ${tabs.length}` } }))
    }
    for (const tab of tabs) await tab.ask('doc:join', { guid })
    await waitFor(
      async () =>
        (await sessionsOf(uid)).filter((/** @type {any} */ { documents }) => documents.length === 1).length ===
        tabs.length,
      { message: () => sessionsOf(uid) }
    )
    const told = new Map((await sessionsOf(uid)).map((/** @type {any} */ session) => [session.sid, session]))
    for (const [i, { id }] of tabs.entries()) {
      const { worker, client, transport, documents, connectedAt, lastSeen } = told.get(id)
      assert.deepEqual(
        { worker, client, transport, documents },
        { worker: workerOfSid(String(id)), client: `tab ${i}`, transport: 'websocket', documents: [guid] }
      )
      assert.ok(Math.abs(Date.now() - connectedAt) < 60_000 && Math.abs(Date.now() - lastSeen) < 60_000)
    }
    await waitFor(() => events(run).length >= 2, { timeout: 15_000, message: () => events(run) })
    for (const tab of tabs.slice(1)) tab.disconnect()
    await waitFor(async () => (await sessionsOf(uid)).length === 1)
    tabs[0].disconnect()
    await waitFor(() => events(run).length >= 5, { timeout: 15_000, message: () => events(run) })
    assert.deepEqual(events(run).sort(), [
      'joined ada a',
      'left ada a closed',
      'offline ada closed',
      'online ada',
      'vacated a'
    ])
    assert.deepEqual(await sessionsOf(uid), [])
  }
)

test(
  'after a worker is killed its users go offline and its documents are vacated, once each, and counts are correct',
  { timeout: 360_000 },
  async (t) => {
    const run = `-${randomUUID()}`
    const { port } = new URL(cluster.url)
    // every other client shares a document with many; each of the others has its own
    const guidOf = (/** @type {number} */ i) => (i % 2 === 0 ? `shared-${i % DOCUMENTS}${run}` : `own-${i}${run}`)
    const tokens = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => signToken({ sub: `user-${i}${run}` })))
    const { score, clients } = await openClients({
      count: CLIENTS,
      concurrency: 20,
      timeoutMs: 20_000,
      onProgress: () => {},
      create: (i, settle) =>
        new WebSocketClient(
          { host: '127.0.0.1', port: Number(port) },
          { token: tokens[i], guid: guidOf(i), source: '127.0.0.1' },
          {},
          settle
        )
    })
    t.after(() => {
      for (const client of clients.values()) client.close()
    })
    assert.deepEqual(score.failures, {})
    await waitFor(() => events(run).length >= 2 * CLIENTS, { timeout: 20_000, message: () => events(run).length })
    /** @type {Map<number, string[]>} */
    const usersOf = new Map()
    for (let i = 0; i < CLIENTS; i++) {
      const [{ worker }] = await store.sessions(`user-${i}${run}`)
      usersOf.set(worker, [...(usersOf.get(worker) ?? []), `user-${i}`])
    }
    assert.equal(usersOf.size, 2)

    const [{ pid }] = (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway')
    process.kill(pid, 'SIGKILL')
    await waitFor(() => [...clients.values()].some(({ state }) => state === 'closed'))
    await waitFor(() => events(run).some((event) => event.startsWith('offline')), {
      timeout: 30_000,
      message: 'a user to be offline'
    })
    const surviving = new Set([...clients].filter(([, { state }]) => state === 'open').map(([i]) => i))
    const gone = Array.from({ length: CLIENTS }, (_, i) => i).filter((i) => !surviving.has(i))
    assert.deepEqual(
      [...usersOf.values()].map((users) => users.sort()).find((users) => users.includes(`user-${gone[0]}`)),
      gone.map((i) => `user-${i}`).sort()
    )

    const expected = gone.flatMap((i) => {
      const guid = guidOf(i).replace(run, '')
      const vacated = [...surviving].some((other) => guidOf(other) === guidOf(i)) ? [] : [`vacated ${guid}`]
      return [`left user-${i} ${guid} worker_gone`, `offline user-${i} worker_gone`, ...vacated]
    })
    const ends = () =>
      events(run)
        .filter((event) => !event.startsWith('online') && !event.startsWith('joined'))
        .sort()
    await waitFor(() => ends().length >= new Set(expected).size, { timeout: 20_000, message: () => ends().length })
    assert.deepEqual(ends(), [...new Set(expected)].sort())
    for (let i = 0; i < CLIENTS; i += 7) {
      const here = [...surviving].filter((other) => guidOf(other) === guidOf(i)).map((other) => `user-${other}${run}`)
      const held = (await redis.client.hkeys(documentHolders(guidOf(i)))).filter((uid) => uid !== '')
      assert.deepEqual(held.sort(), here.sort())
      assert.equal((await store.sessions(`user-${i}${run}`)).length, surviving.has(i) ? 1 : 0)
    }
  }
)

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { workersOf } from '../helpers/behind-balancer.js'
import { connectClient, connectToWorkers, createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { sum } from '../helpers/metrics-text.js'
import { publishOnce } from '../helpers/post.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { keyPairFor, signToken } from '../helpers/tokens.js'
import { connectAllTheTime, watchReturn } from '../helpers/traffic.js'
import { waitFor } from '../helpers/wait.js'
import { GATEWAY_FLAGS } from '../../src/base/process/runtime-flags.js'

// workers of other clusters of this machine would be its workers, too
const REDIS_URL = await ownRedisUrl(fileScope())

/**
 * Starts a cluster with a temporary directory of its own, so that leftovers are visible.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} [env]
 */
async function start (t, env = {}) {
  const temporary = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
  t.after(() => rmSync(temporary, { recursive: true, force: true }))
  const cluster = await startCluster(t, { WORKERS: '2', REDIS_URL, TMPDIR: temporary, ...env })
  return {
    ...cluster,
    leftovers: () => readdirSync(temporary),
    sockets: () => readdirSync(path.join(temporary, readdirSync(temporary)[0])).filter((file) => file.endsWith('.sock')).sort(),
    /** @param {string} [role] @returns {Promise<number[]>} */
    pids: async (role) =>
      (await childrenOf(cluster.pid)).filter((child) => role === undefined || child.role === role).map(({ pid }) => pid)
  }
}

/** @param {{ id?: string }} client @returns {string | undefined} */
const workerOf = (client) => client.id?.slice(0, 2)

/** @param {number} port @returns {Promise<boolean>} */
async function isFree (port) {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.destroy()
    return false
  } catch {
    return true
  }
}

/**
 * Waits for the end of a cluster, and checks that nothing is left.
 * @param {Awaited<ReturnType<typeof start>>} cluster
 * @param {number[]} pids of the processes it had started
 */
async function gone (cluster, pids) {
  const end = await cluster.exited
  await waitFor(() => !pids.some(isAlive), { message: () => `processes ${pids.filter(isAlive)} to end` })
  await waitFor(() => cluster.leftovers().length === 0, { message: cluster.leftovers })
  for (const url of [cluster.url, cluster.apiUrl, cluster.adminUrl])
    assert.equal(await isFree(Number(new URL(url).port)), true, `${url} is free`)
  return end
}

describe('a cluster that keeps running', () => {
  const scope = fileScope()
  const topics = freshTopics(scope)
  /** @type {Awaited<ReturnType<typeof start>>} */
  let cluster
  before(async () => {
    cluster = await start(scope, { ...topics.env, DRAIN_TIMEOUT: '60000' })
  }, { timeout: 270_000 })

  test('only gateway workers run with the tuned V8 flags', async () => {
    const flagsOf = (/** @type {number} */ pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        .filter((arg) => GATEWAY_FLAGS.includes(arg))
    for (const { pid, role } of await childrenOf(cluster.pid))
      assert.deepEqual(flagsOf(pid), role === 'gateway' ? GATEWAY_FLAGS : [], role)
  })

  test(
    'a killed gateway worker is replaced, gets its number back, and clients of the other worker are not affected',
    { timeout: 90_000 },
    async (t) => {
      const clients = await connectToWorkers(t, cluster.url, 2, 40, () => ({ reconnection: true }))
      const numbers = [...new Set(clients.map(workerOf))]
      const file = cluster.sockets().find((name) => name.startsWith('gateway-0.'))
      const pid = Number(file?.split('.')[1])
      const guid = `document-${randomUUID()}`
      for (const client of clients) await client.ask('doc:join', { guid })
      const workers = new Map(clients.map((client) => [client, workerOf(client)]))
      /** @type {Map<typeof clients[number], string>} with the reason */
      const lost = new Map()
      for (const client of clients) client.on('disconnect', (reason) => lost.set(client, reason))

      process.kill(pid, 'SIGKILL')
      await waitFor(async () => !(await cluster.pids()).includes(pid) && (await cluster.ready()), {
        timeout: 10_000,
        message: 'a new worker'
      })
      await waitFor(() => clients.every((client) => client.connected), {
        timeout: 20_000,
        message: 'every client to reconnect'
      })
      assert.ok(lost.size > 0 && lost.size < clients.length,
        `${[...lost].map(([client, reason]) => `${workers.get(client)} ${reason}`)} lost: ${cluster.output()}`)
      const survivor = workerOf(/** @type {any} */ (clients.find((client) => !lost.has(client))))
      assert.ok(
        clients.every((client) => lost.has(client) || workerOf(client) === survivor),
        'one worker\'s clients were lost'
      )

      const later = await connectToWorkers(t, cluster.url, 2, 2)
      assert.deepEqual([...new Set(later.map(workerOf))].sort(), numbers.sort(), 'the same numbers')
      assert.equal(cluster.sockets().length, 4, 'no stale socket')
      assert.match(cluster.output(), /process ended unexpectedly, starting it again/)
      assert.match(await cluster.metrics(), /^inkcast_worker_restarts_total\{[^}]*role="gateway"[^}]*\} 1$/m)
    }
  )

  test(
    'SIGHUP under load: no connection is refused, each client moves once and misses nothing, every process is replaced, and a second ' +
    'SIGHUP is not lost',
    { timeout: 270_000 },
    async (t) => {
      const before = await cluster.pids()
      const kinds = [['websocket'], ['polling'], ['polling', 'websocket']]
      const guid = `reloaded-${randomUUID()}`
      const clients = Array.from({ length: 30 }, (_, i) => resuming(t, cluster.url, guid, kinds[i % 3]))
      const joined = () => clients.filter(({ hasJoined }) => hasJoined()).length
      await waitFor(() => joined() === clients.length, { timeout: 30_000, message: joined })
      const { allBack, missing, untold } = watchReturn(clients)
      let moves = 0
      for (const client of clients) client.on('disconnect', () => { moves++ })
      const traffic = connectAllTheTime(t, cluster.url, { lanes: 2, transports: kinds })
      let sent = 0
      let asking = true
      t.after(() => { asking = false })
      const asked = (async () => {
        while (asking) {
          await publishOnce(cluster, guid, sent)
          sent++
          await delay(100)
        }
      })()
      let most = 0
      const everSeen = new Set(before)
      const look = async () => {
        const now = await cluster.pids()
        for (const pid of now) everSeen.add(pid)
        most = Math.max(most, now.length)
        return now
      }
      /** @type {unknown} */
      let unready
      const watched = (async () => {
        while (asking) {
          await look()
          // on a busy machine a process, or Redis, may pause for longer than its answer is awaited
          await cluster.ready().catch((error) => {
            if (!/^not ready: .*(does not answer|Redis is unavailable)/.test(error.message)) unready = error
          })
          await delay(50)
        }
      })()
      await waitFor(() => traffic.connected > 3, { timeout: 10_000, message: 'traffic' })

      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(async () => {
        const now = await look()
        return before.some((pid) => !now.includes(pid))
      }, { timeout: 30_000, message: () => `the first process to be replaced: ${cluster.output()}` })
      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(async () => (await look()).length === 4 && everSeen.size === 12, {
        timeout: 60_000,
        message: () => `both reloads, ${everSeen.size} processes so far`
      })
      asking = false
      await Promise.all([asked, watched])
      const { connected, refused, workers } = await traffic.stop()

      assert.deepEqual(refused, [])
      assert.ok(connected > 5 && workers.size >= 2, `${connected} connected to ${[...workers]}`)
      assert.equal(unready, undefined, 'ready all the time')
      assert.equal(most, 5, 'one process at a time')
      await waitFor(allBack, { timeout: 10_000, message: missing })
      assert.deepEqual([...untold], [], 'every client got gateway:draining')
      const all = Array.from({ length: sent }, (_, i) => i)
      await waitFor(() => clients.every(({ got }) => got.length === sent), {
        timeout: 20_000, message: () => `${sent}: ${clients.map(({ got }) => got.length)}`
      })
      for (const { got } of clients) assert.deepEqual(got, all, 'once and in order')
      // the last to move may have got all records before it moved
      await waitFor(() => joined() === clients.length, { message: joined })
      t.diagnostic(`${moves / clients.length} moves per client in two reloads`)
      // other workers take the new clients of one that pauses
      if (sum(await cluster.metrics(), 'inkcast_worker_hangs_total') === 0)
        assert.ok(moves <= 2.1 * clients.length, `${moves} moves of ${clients.length} clients`)
      // all of them accept again
      assert.equal((await workersOf(t, cluster.url, 2)).size, 2)
      await waitFor(() => cluster.sockets().length === 4, { message: cluster.sockets })
    }
  )

  test('SIGTERM: clients get gateway:draining, all processes end within DRAIN_TIMEOUT with exit code 0, and nothing is left', {
    timeout: 120_000
  }, async (t) => {
    const clients = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        connectClient(t, cluster.url, { transports: i % 3 ? ['websocket'] : ['polling'] })
      )
    )
    const told = Promise.all(clients.map((client) => client.next('gateway:draining')))
    const ended = Promise.all(clients.map((client) => client.next('disconnect')))
    const pids = await cluster.pids()
    assert.equal(pids.length, 4)
    process.kill(cluster.pid, 'SIGTERM')
    await told
    // a polling client learns it with its next request, and may find the server gone
    for (const [i, [reason]] of (await ended).entries())
      assert.match(reason, i % 3 ? /^transport close$/ : /^transport (close|error)$/)
    // exit code 1 would mean that a process had to be killed after the timeout
    assert.deepEqual(await gone(cluster, pids), { code: 0, signal: null })
  })
})

/**
 * A client that follows a document through its reconnects.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {string} guid
 * @param {string[]} transports
 */
function resuming (t, url, guid, transports) {
  /** @type {any} */
  let position
  const client = createClient(t, url, {
    transports,
    reconnection: true,
    auth: (/** @type {(auth: object) => void} */ send) => send({ documents: { [guid]: position ?? null } })
  })
  /** @type {number[]} */
  const got = []
  client.on('doc:joined', (answer) => { position = answer.position })
  client.on('message', (payload, { offset }) => {
    got.push(payload)
    position.offset = offset
  })
  return Object.assign(client, { got, hasJoined: () => client.connected && position !== undefined })
}

test(
  'a worker that hangs is killed soon after DRAIN_TIMEOUT, with exit code 1',
  { timeout: 120_000 },
  async (t) => {
    const cluster = await start(t, { DRAIN_TIMEOUT: '500', WORKERS: '1' })
    const pids = await cluster.pids()
    process.kill((await cluster.pids('gateway'))[0], 'SIGSTOP')
    process.kill(cluster.pid, 'SIGTERM')
    assert.deepEqual(await gone(cluster, pids), { code: 1, signal: null })
    assert.match(cluster.output(), /did not stop in time, killing them/)
  }
)

test('a second signal ends everything at once', { timeout: 120_000 }, async (t) => {
  const cluster = await start(t, { WORKERS: '1', DRAIN_TIMEOUT: '600000' })
  const pids = await cluster.pids()
  process.kill((await cluster.pids('gateway'))[0], 'SIGSTOP')
  process.kill(cluster.pid, 'SIGINT')
  await waitFor(async () => (await cluster.pids()).length < 2, { message: 'the first signal to take effect' })
  process.kill(cluster.pid, 'SIGINT')
  assert.deepEqual(await gone(cluster, pids), { code: 1, signal: null })
})

describe('a cluster whose key file changes', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof start>>} */
  let cluster
  let file = ''
  let token = ''
  before(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-keys-'))
    scope.after(() => rmSync(folder, { recursive: true }))
    file = path.join(folder, 'key.pem')
    const { publicKey, privateKey } = keyPairFor('ES256')
    writeFileSync(file, publicKey.export({ type: 'spki', format: 'pem' }))
    token = await signToken({ sub: 'somebody' }, { alg: 'ES256', key: privateKey })
    cluster = await start(scope, { AUTH_JWKS_URL: pathToFileURL(file).href, WORKERS: '1' })
  }, { timeout: 270_000 })

  test('when a new process fails to start, the old one keeps serving and the log has the reason', async (t) => {
    const client = await connectClient(t, cluster.url, { auth: { token } })
    const pids = await cluster.pids()
    writeFileSync(file, 'no key')
    process.kill(cluster.pid, 'SIGHUP')
    await waitFor(() => /not reloaded: the new process: .*AUTH_JWKS_URL/.test(cluster.output()), {
      timeout: 20_000,
      message: cluster.output
    })
    assert.deepEqual(await cluster.pids(), pids)
    assert.equal(client.connected, true)
    await connectClient(t, cluster.url, { auth: { token } })
    await waitFor(cluster.ready)
  })

  test('a killed launcher: its processes notice, drain, and leave nothing behind', async (t) => {
    const clients = await Promise.all(
      Array.from({ length: 6 }, () => connectClient(t, cluster.url, { auth: { token } }))
    )
    const told = Promise.all(clients.map((client) => client.next('gateway:draining')))
    const pids = await cluster.pids()
    assert.equal(pids.length, 2)
    process.kill(cluster.pid, 'SIGKILL')
    await told
    assert.deepEqual(await gone(cluster, pids), { code: null, signal: 'SIGKILL' })
  })
})

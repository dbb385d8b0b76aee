import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connectClient, connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { noSlotSockets } from '../helpers/slot-sockets.js'
import { keyPairFor, signToken } from '../helpers/tokens.js'
import { connectAllTheTime, watchReturn } from '../helpers/traffic.js'
import { waitFor } from '../helpers/wait.js'
import { GATEWAY_FLAGS } from '../../src/process/runtime-flags.js'
import { freePorts } from '../services/ports.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Starts a cluster with a temporary directory of its own, so that leftovers are visible.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} [env]
 */
async function start (t, env = {}) {
  const temporary = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
  t.after(() => rmSync(temporary, { recursive: true, force: true }))
  const cluster = await startCluster(t, { WORKERS: '2', REDIS_URL: redisUrl(), TMPDIR: temporary, ...env })
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
    cluster = await start(scope, { ...topics.env, DRAIN_TIMEOUT: '10000' })
  }, { timeout: 270_000 })

  test('only gateway workers run with the tuned V8 flags', async () => {
    const flagsOf = (/** @type {number} */ pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        .split('\0')
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
      /** @type {Set<typeof clients[number]>} */
      const lost = new Set()
      for (const client of clients) client.on('disconnect', () => lost.add(client))

      process.kill(pid, 'SIGKILL')
      await waitFor(async () => !(await cluster.pids()).includes(pid) && (await cluster.ready()), {
        timeout: 10_000,
        message: 'a new worker'
      })
      await waitFor(() => clients.every((client) => client.connected), {
        timeout: 20_000,
        message: 'every client to reconnect'
      })
      assert.ok(lost.size > 0 && lost.size < clients.length, `${lost.size} lost`)
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

  for (const role of ['api', 'ingest']) {
    test(`a killed ${role} is replaced and works again`, { timeout: 90_000 }, async (t) => {
      const [pid] = await cluster.pids(role)
      const client = await connectClient(t, cluster.url)
      const guid = `document-${randomUUID()}`
      await client.ask('doc:join', { guid })
      process.kill(pid, 'SIGKILL')
      await waitFor(async () => {
        const now = await cluster.pids(role)
        return now.length === 1 && now[0] !== pid && await cluster.ready()
      }, { timeout: 15_000, message: 'a new process' })
      assert.equal((await cluster.post(`/v1/documents/${guid}/broadcast`, { after: role })).status, 202)
      // a new member only joins after the session of the dead process has ended
      await waitFor(() => client.received.length === 1, { timeout: 20_000, message: 'the record' })
      assert.equal(client.connected, true)
    })
  }

  test(
    'SIGHUP under load: no connection is refused, every client reconnects, every process is replaced, and a second SIGHUP is not lost',
    { timeout: 270_000 },
    async (t) => {
      const before = await cluster.pids()
      const kinds = [['websocket'], ['polling'], ['polling', 'websocket']]
      const clients = await Promise.all(
        Array.from({ length: 45 }, (_, i) =>
          connectClient(t, cluster.url, { transports: kinds[i % 3], reconnection: true })
        )
      )
      const { allBack, missing, untold } = watchReturn(clients)
      const traffic = connectAllTheTime(t, cluster.url, { transports: kinds })
      /** @type {number[]} */
      const answers = []
      let asking = true
      t.after(() => {
        asking = false
      })
      const asked = (async () => {
        while (asking) {
          // on a connection of its own: the api closes idle ones when it stops, and this process may be late to see it
          const { status } = await cluster.post(`/v1/documents/reload-${randomUUID()}/broadcast`, 1, { connection: 'close' })
          answers.push(status)
          await delay(5)
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
          await cluster.ready().catch((error) => {
            unready = error
          })
          await delay(50)
        }
      })()
      await waitFor(() => traffic.connected > 10, { timeout: 10_000, message: 'traffic' })

      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(async () => !(await look()).includes(before[0]), {
        timeout: 30_000,
        message: () => `the first process to be replaced: ${cluster.output()}`
      })
      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(async () => (await look()).length === 4 && everSeen.size === 12, {
        timeout: 60_000,
        message: () => `both reloads, ${everSeen.size} processes so far`
      })
      asking = false
      await Promise.all([asked, watched])
      const { connected, refused, workers } = await traffic.stop()

      assert.deepEqual(refused, [])
      assert.ok(connected > 50 && workers.size >= 2, `${connected} connected to ${[...workers]}`)
      assert.deepEqual(
        answers.filter((status) => status !== 202),
        [],
        'the api answered'
      )
      assert.equal(unready, undefined, 'ready all the time')
      assert.equal(most, 5, 'one process at a time')
      await waitFor(allBack, { timeout: 10_000, message: missing })
      assert.deepEqual([...untold], [], 'every client got gateway:draining')
      assert.equal((await cluster.post(`/v1/documents/${randomUUID()}/broadcast`, 1)).status, 202)
      await waitFor(() => cluster.sockets().length === 4, { message: cluster.sockets })
    }
  )
})

test(
  'SIGTERM: clients get gateway:draining, all processes end within DRAIN_TIMEOUT with exit code 0, and nothing is left',
  { timeout: 120_000 },
  async (t) => {
    const cluster = await start(t, { DRAIN_TIMEOUT: '5000' })
    const clients = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        connectClient(t, cluster.url, { transports: i % 3 ? ['websocket'] : ['polling'] })
      )
    )
    const told = Promise.all(clients.map((client) => client.next('gateway:draining')))
    const ended = Promise.all(clients.map((client) => client.next('disconnect')))
    const pids = await cluster.pids()
    assert.equal(pids.length, 3)
    process.kill(cluster.pid, 'SIGTERM')
    await told
    // a polling client learns it with its next request, and may find the server gone
    for (const [i, [reason]] of (await ended).entries())
      assert.match(reason, i % 3 ? /^transport close$/ : /^transport (close|error)$/)
    // exit code 1 would mean that a process had to be killed after the timeout
    assert.deepEqual(await gone(cluster, pids), { code: 0, signal: null })
  }
)

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
  const cluster = await start(t, { WORKERS: '1' })
  const pids = await cluster.pids()
  process.kill((await cluster.pids('gateway'))[0], 'SIGSTOP')
  process.kill(cluster.pid, 'SIGINT')
  await waitFor(async () => (await cluster.pids()).length < 2, { message: 'the first signal to take effect' })
  const begin = performance.now()
  process.kill(cluster.pid, 'SIGINT')
  assert.deepEqual(await gone(cluster, pids), { code: 1, signal: null })
  assert.ok(performance.now() - begin < 15_000, 'it did not wait for DRAIN_TIMEOUT (30 s)')
})

test('a killed launcher: its processes notice, drain, and leave nothing behind', { timeout: 120_000 }, async (t) => {
  const topics = freshTopics(t)
  const cluster = await start(t, { ...topics.env, WORKERS: '1' })
  const clients = await Promise.all(Array.from({ length: 12 }, () => connectClient(t, cluster.url)))
  const told = Promise.all(clients.map((client) => client.next('gateway:draining')))
  const pids = await cluster.pids()
  assert.equal(pids.length, 3)
  process.kill(cluster.pid, 'SIGKILL')
  await told
  assert.deepEqual(await gone(cluster, pids), { code: null, signal: 'SIGKILL' })
})

test(
  'when a new process fails to start, the old one keeps serving and the log has the reason',
  { timeout: 120_000 },
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-keys-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = path.join(folder, 'key.pem')
    const { publicKey, privateKey } = keyPairFor('ES256')
    writeFileSync(file, publicKey.export({ type: 'spki', format: 'pem' }))
    const cluster = await start(t, { AUTH_JWKS_URL: pathToFileURL(file).href, WORKERS: '1' })
    const token = await signToken({ sub: 'somebody' }, { alg: 'ES256', key: privateKey })
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
    await cluster.ready()
  }
)

/**
 * Runs the launcher to its end.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} env
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function runLauncher (t, env) {
  const child = spawn(process.execPath, ['cluster.js'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => { child.kill('SIGKILL') })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk })
  // 'close' comes when the last process that shares the output has ended: then nothing is left
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

describe('a failed start logs the reason in one line, exits with code 1, and leaves nothing', () => {
  /**
   * @param {import('node:test').TestContext} t
   * @param {Record<string, string>} env
   * @param {RegExp} reason
   */
  async function fails (t, env, reason) {
    const temporary = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
    t.after(() => rmSync(temporary, { recursive: true, force: true }))
    const [port, apiPort, adminPort] = await freePorts(3)
    const { code, output } = await runLauncher(t, {
      WORKERS: '1',
      REDIS_URL: redisUrl(),
      TMPDIR: temporary,
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      ...env
    })
    assert.equal(code, 1, output)
    const lines = output.split('\n').filter((line) => line !== '')
    assert.equal(lines.length, 1, output)
    assert.match(lines[0], reason)
    assert.deepEqual(readdirSync(temporary), [])
  }

  for (const [name, role] of [['PORT', 'gateway-\\d'], ['API_PORT', 'api-0'], ['ADMIN_PORT', '']]) {
    test(`${name} is taken`, { timeout: 90_000 }, async (t) => {
      const server = createServer()
      // the port is taken even if the other process allows sharing it
      server.listen({ port: 0, host: '127.0.0.1', reusePort: noSlotSockets === false })
      await once(server, 'listening')
      t.after(() => server.close())
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      await fails(
        t,
        { [name]: String(port) },
        new RegExp(
          `^inkcast: ${role && `${role}: `}port ${port} is in use: stop what uses it, or set PORT, API_PORT or ADMIN_PORT`
        )
      )
    })
  }

  test('a wrong Redis password', { timeout: 90_000 }, async (t) => {
    await fails(
      t,
      { REDIS_URL: redisUrl().replace('redis://', 'redis://nobody:wrong@') },
      /^inkcast: [a-z]+-\d: redis: .*(password|user)/i
    )
  })

  test('TMPDIR is too long for a unix socket', { timeout: 90_000 }, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), `inkcast-${'long-'.repeat(16)}`))
    t.after(() => rmSync(folder, { recursive: true }))
    await fails(t, { TMPDIR: folder }, /too long for a unix socket: choose a shorter TMPDIR/)
    assert.deepEqual(readdirSync(folder), [])
  })
})

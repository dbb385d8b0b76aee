import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { connectClient, connectToWorkers, createClient } from '../helpers/clients.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { refusedByPm2, startPm2 } from '../helpers/pm2.js'
import { publishOnce } from '../helpers/post.js'
import { connectAllTheTime, watchReturn } from '../helpers/traffic.js'
import { waitFor } from '../helpers/wait.js'
import { GATEWAY_FLAGS } from '../../src/base/process/runtime-flags.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
const topics = freshTopics(scope)
/** @type {Awaited<ReturnType<typeof startPm2>>} */
let cluster
before(async () => {
  cluster = await startPm2(scope, { WORKERS: '2', REDIS_URL, DRAIN_TIMEOUT: '10000', ...topics.env })
}, { timeout: 90_000 })

const KINDS = [
  { codec: /** @type {const} */ ('json'), transports: ['websocket'] },
  { codec: /** @type {const} */ ('msgpack'), transports: ['websocket'] },
  { codec: /** @type {const} */ ('json'), transports: ['polling'] },
  { codec: /** @type {const} */ ('msgpack'), transports: ['polling', 'websocket'] }
]

/** @param {string} name of the metric, with the labels that matter */
async function metric (name) {
  const lines = (await cluster.metrics()).split('\n').filter((line) => line.startsWith(name))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

test('PM2 runs two gateway workers, api and ingest; readiness and metrics cover all of them', async () => {
  /** @type {any} */
  let answer
  await waitFor(async () => (answer = await cluster.status()).ready, { message: () => answer })
  const { processes } = answer
  assert.deepEqual(
    processes.map((/** @type {any} */ { name }) => name),
    ['api-0', 'gateway-0', 'gateway-1', 'ingest-0']
  )
  const list = await cluster.list()
  assert.deepEqual(list.map(({ name, pm2_env: { exec_mode, status } }) => `${name} ${exec_mode} ${status}`).sort(), [
    'inkcast-api cluster_mode online',
    'inkcast-gateway cluster_mode online',
    'inkcast-gateway cluster_mode online',
    'inkcast-ingest fork_mode online'
  ])
  for (const { name, pm2_env: { node_args: flags } } of list)
    assert.deepEqual(flags, name === 'inkcast-gateway' ? GATEWAY_FLAGS : [], name)
  const text = await cluster.metrics()
  for (const role of ['gateway', 'api', 'ingest'])
    assert.match(text, new RegExp(`^process_cpu_seconds_total\\{.*role="${role}"`, 'm'))
  assert.equal((await stat(path.join(cluster.home, 'inkcast'))).mode & 0o777, 0o700)
})

test('the log level of all processes changes by a request, and by a signal that PM2 sends; each line is in a log once', async () => {
  /** @param {object} [body] a change @returns {Promise<{ name: string, level: string }[]>} */
  const ask = async (body) => {
    const answer = await fetch(`${cluster.adminUrl}/loglevel`, body && { method: 'PUT', body: JSON.stringify(body) })
    assert.equal(answer.status, 200)
    return /** @type {any} */ (await answer.json()).processes
  }
  const names = ['api-0', 'gateway-0', 'gateway-1', 'ingest-0']
  // a process that pauses for a moment is shown without its level
  const have = (/** @type {string} */ level) =>
    waitFor(async () => isDeepStrictEqual(await ask(), names.map((name) => ({ name, level }))), { message: level })
  const changes = async () => (await cluster.logs()).split('\n').filter((line) => line.includes('the log level was changed'))
  const levels = ['info', 'warn', 'info']
  for (const [i, level] of levels.entries()) {
    await ask({ level })
    await waitFor(async () => (await changes()).length >= names.length * (i + 1), { message: changes })
  }
  await have('info')
  assert.equal((await changes()).length, names.length * levels.length)
  await cluster.pm2('sendSignal', 'SIGUSR2', 'inkcast-gateway')
  await waitFor(async () => (await changes()).filter((line) => line.includes('"to":"debug"')).length === 2, {
    timeout: 5000, message: changes
  })
  await ask({ level: 'default' })
  await have('warn')
})

test(
  'a record reaches clients of all kinds on both workers, and misrouted requests are forwarded',
  { timeout: 180_000 },
  async (t) => {
    const guid = `document-${randomUUID()}`
    const clients = await connectToWorkers(t, cluster.url, 2, 24, (i) => KINDS[i % KINDS.length])
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid })).ok, true)
    await publishOnce(cluster, guid, { hello: 'all' })
    await waitFor(() => clients.every(({ received }) => received.length === 1), {
      timeout: 15_000,
      message: () => clients.map(({ received }) => received.length)
    })
    for (const { received } of clients) assert.deepEqual(received[0].payload, { hello: 'all' })
    assert.ok((await metric('inkcast_stray_requests_total{result="forwarded"')) > 0, 'misrouted requests were forwarded')
    assert.equal(await metric('inkcast_stray_requests_total{result="failed"'), 0)
    assert.equal(await metric('inkcast_connections{'), clients.length)
  }
)

test(
  'pm2 reload replaces every process without refusing a connection, and every client reconnects',
  { timeout: 270_000 },
  async (t) => {
    const before = await cluster.list()
    const clients = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        connectClient(t, cluster.url, { ...KINDS[i % KINDS.length], reconnection: true })
      )
    )
    const guid = `document-${randomUUID()}`
    const { allBack, missing } = watchReturn(clients)
    const traffic = connectAllTheTime(t, cluster.url, { lanes: 2, transports: [['websocket'], ['polling', 'websocket']] })
    await waitFor(() => traffic.connected > 20, { timeout: 10_000, message: 'traffic' })
    await cluster.pm2('reload', 'all')
    const { connected, refused, workers } = await traffic.stop()
    assert.deepEqual(refused, [])
    assert.ok(connected > 50, `${connected} connected`)
    assert.ok(workers.size >= 3, `old and new workers accepted connections: ${[...workers]}`)
    await waitFor(allBack, { timeout: 20_000, message: missing })

    const after = await cluster.list()
    assert.equal(after.length, before.length)
    for (const { pid } of before) assert.ok(!after.some((process) => process.pid === pid), 'every process is replaced')
    // a polling client may learn of the end of its session only now
    for (const client of clients)
      await waitFor(async () => (await client.ask('doc:join', { guid })).ok, {
        timeout: 10_000,
        message: 'a client to be served'
      })
    await waitFor(async () => (await cluster.status()).ready, { timeout: 10_000, message: 'readiness' })
    const pids = new Set((await readdir(path.join(cluster.home, 'inkcast'))).map((file) => file.split('.')[1]))
    assert.equal(pids.size, after.length, 'no socket of an old process is left')
  }
)

test('a killed worker is restarted, and its socket file is removed', { timeout: 180_000 }, async (t) => {
  const clients = await Promise.all(
    Array.from({ length: 12 }, () => connectClient(t, cluster.url, { reconnection: true }))
  )
  const victim = /** @type {{ pid: number }} */ ((await cluster.list()).find(({ name }) => name === 'inkcast-gateway'))
  process.kill(victim.pid, 'SIGKILL')
  await waitFor(async () => {
    const { ready, processes } = await cluster.status()
    const files = await readdir(path.join(cluster.home, 'inkcast'))
    return (
      ready && processes.length === 4 && !files.some((file) => file.includes(`.${victim.pid}.`))
    )
  }, { timeout: 15_000, message: 'a new worker' })
  await waitFor(() => clients.every((client) => client.connected), {
    timeout: 10_000,
    message: 'the clients to reconnect'
  })
})

test('a worker that hangs is killed, and newcomers do not wait for it', { timeout: 240_000 }, async (t) => {
  const clients = await connectToWorkers(t, cluster.url, 2, 12, () => ({ reconnection: true }))
  const victim = /** @type {{ pid: number }} */ ((await cluster.list()).find(({ name }) => name === 'inkcast-gateway'))
  process.kill(victim.pid, 'SIGSTOP')
  // PM2's daemon gives a worker one connection, and the next one when it has taken it
  const newcomers = Array.from({ length: 40 }, () => createClient(t, cluster.url, { reconnection: true }))
  await waitFor(() => newcomers.filter(({ connected }) => connected).length >= newcomers.length - 1, {
    timeout: 10_000,
    message: () => `${newcomers.filter(({ connected }) => connected).length} of ${newcomers.length} are served`
  })
  await waitFor(async () => !(await cluster.list()).some(({ pid }) => pid === victim.pid), {
    timeout: 60_000, message: cluster.logs
  })
  await waitFor(async () => (await cluster.status()).ready, { timeout: 30_000, message: 'a new worker' })
  await waitFor(() => [...clients, ...newcomers].every(({ connected }) => connected), {
    timeout: 60_000,
    message: 'the clients to reconnect'
  })
  assert.match(await cluster.logs(), /did not answer within 10 s, it was stopped by a signal/)
  assert.equal(await metric('inkcast_hung_workers_killed_total{role="gateway"'), 1)
})

test('development logs are in the log file of their process', async () => {
  const file = (await readdir(path.join(cluster.home, 'logs'))).find((name) => name.startsWith('inkcast-api-out'))
  assert.ok(file)
  assert.match(await cluster.logs(), /\[api 0\] the log level was changed/)
  assert.ok((await stat(path.join(cluster.home, 'logs', file))).size > 0)
})

test('at the end nothing is left behind', { timeout: 90_000 }, async () => {
  const pids = (await cluster.list()).map(({ pid }) => pid)
  await cluster.stop()
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  await assert.rejects(stat(cluster.home), { code: 'ENOENT' })
})

test('without REDIS_URL, or with wrong settings, the error of pm2 start says what to do', { timeout: 90_000 }, async (t) => {
  const [embedded, wrong] = await Promise.all([refusedByPm2(t, {}), refusedByPm2(t, { REDIS_URL, PORT: 'x' })])
  assert.equal(embedded.code, 1)
  assert.match(embedded.output, /inkcast: PM2 runs a cluster, and a cluster needs Redis: set REDIS_URL/)
  assert.equal(wrong.code, 1)
  assert.match(wrong.output, /PORT=x: must be a whole number/)
})

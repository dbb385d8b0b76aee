import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { Redis } from 'ioredis'
import { certificate, startHaproxy } from '../helpers/balancer.js'
import { connectAllKinds, everyKindWorks, joinAll, requestsAreForwarded } from '../helpers/behind-balancer.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { createHosts, lacksHosts } from '../helpers/hosts.js'
import { sum } from '../helpers/metrics-text.js'
import { publishOnce } from '../helpers/post.js'
import { signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { spawnGuarded } from '../services/guard.js'
import { lacks } from '../services/install.js'

/**
 * Three hosts with networks and names of their own. Two run inkcast with the settings of docs/deployment.md, without
 * Kafka; the third one runs Redis and HAProxy with deploy/haproxy/terminate.cfg, changed only in the path of the
 * certificate. Tests of two machines over time are in test/world/machines.test.js.
 */
const skip = await lacksHosts() || await lacks(['haproxy', 'redis-server'])
const scope = fileScope()
const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
const { ca } = certificate
const [, documented] = /^## Several machines\n[^]*?```env\n(NODE_ENV=[^`]*)```/m
  .exec(readFileSync(here('../../docs/deployment.md'), 'utf8')) ?? []
const settings = /** @type {Record<string, string>} */ (parseEnv(documented))

/** @typedef {Awaited<ReturnType<typeof startMachine>>} Machine */
/** @type {Awaited<ReturnType<typeof createHosts>>} */
let hosts
let redisUrl = ''
/** @type {Machine} */
let first
/** @type {Machine} */
let second
/** @type {string} */
let url

before(async () => {
  if (skip) return
  hosts = await createHosts(scope, { machine1: '10.0.0.11', machine2: '10.0.0.12', services: '10.0.0.13' })
  redisUrl = await startRedis()
  ;[first, second] = await Promise.all([
    startMachine('machine1', { WORKERS: '1', PEER_PORT: '0' }),
    startMachine('machine2', { WORKERS: '1' })
  ])
  url = await startBalancer()
}, { timeout: 150_000 })

/** @returns {Promise<string>} URL of a Redis on a host */
async function startRedis () {
  const { address, command, door } = hosts.services
  const [program, ...args] = command(
    ['redis-server', '--bind', address, '--port', '6379', '--save', '', '--protected-mode', 'no']
  )
  const server = spawnGuarded(program, args)
  scope.after(() => server.stop())
  const redis = new Redis(await door(6379), '127.0.0.1')
  redis.on('error', () => {}) // until it listens
  scope.after(() => redis.disconnect())
  await waitFor(() => redis.ping(), { timeout: 20_000 })
  return `redis://${address}:6379`
}

/**
 * @param {'machine1' | 'machine2'} name
 * @param {Record<string, string>} env
 */
async function startMachine (name, env) {
  const host = hosts[name]
  const own = Object.fromEntries(
    Object.entries(settings).filter(([name]) => name !== 'KAFKA_BROKERS')
      .map(([name, value]) => [name, value.replace('10.0.0.11', host.address)])
  )
  const machine = await startCluster(scope, {
    ...own,
    REDIS_URL: redisUrl,
    ...env
  }, { host, timeout: 45_000 })
  const authorization = `Bearer ${settings.API_TOKENS.split(':')[1]}`
  /** @type {typeof machine.post} */
  const post = (path, body, headers) => machine.post(path, body, { authorization, ...headers })
  return { ...machine, post }
}

async function startBalancer () {
  const [port, statsPort] = await Promise.all([hosts.services.door(443), hosts.services.door(8404, '127.0.0.1')])
  await startHaproxy(scope, {
    file: 'haproxy/terminate.cfg',
    replacements: {},
    command: hosts.services.command([]),
    answers: () => fetch(`http://127.0.0.1:${statsPort}/stats;csv`, { signal: AbortSignal.timeout(5000) })
  })
  return `https://127.0.0.1:${port}`
}

/** @param {string} [uid] */
const asUser = async (uid = `user-${randomUUID()}`) => ({
  ca,
  auth: { token: await signToken({ sub: uid }, { key: settings.AUTH_JWT_SECRET }) }
})

test(
  'clients of every kind work on two machines with round-robin requests',
  { skip, timeout: 180_000 },
  async (t) => {
    const balanced = { url, machines: [first, second], options: await asUser() }
    await everyKindWorks(t, balanced)
    await requestsAreForwarded(t, balanced)
    for (const machine of [first, second]) {
      const metrics = await machine.metrics()
      const misroutedTotal = (/** @type {string} */ result) =>
        sum(metrics, 'inkcast_stray_requests_total', `result="${result}"`)
      assert.deepEqual({ failed: misroutedTotal('failed'), unknown: misroutedTotal('unknown') }, { failed: 0, unknown: 0 })
    }
  }
)

test(
  'records, signals and Socket.IO rooms reach members on both machines',
  { skip, timeout: 180_000 },
  async (t) => {
    const guid = `both-${randomUUID()}`
    const options = await asUser()
    const clients = (
      await Promise.all([first, second].map((machine) => connectAllKinds(t, machine.url, { each: 1, options })))
    ).flat()
    await joinAll(clients, guid)
    const machines = new Set(
      (await Promise.all([first, second].map((machine) => machine.metrics()))).map(
        (text) => sum(text, 'inkcast_documents') > 0
      )
    )
    assert.deepEqual([...machines], [true], 'members on both machines')

    for (const machine of [first, second]) await publishOnce(machine, guid, 'record')
    await waitFor(() => clients.every(({ received }) => received.length === 2), {
      timeout: 15_000,
      message: () => clients.map(({ received }) => received.length)
    })
    for (const { received } of clients)
      assert.deepEqual(received.map(({ meta }) => meta.offset), [1, 2])

    assert.equal((await clients[0].ask('doc:signal', { guid, event: 'cursor', data: 7 })).ok, true)
    await waitFor(() => clients.slice(1).every(({ received }) => received.length === 3), {
      message: () => clients.map(({ received }) => received.length)
    })

    const [program, ...args] = hosts.services.command([
      process.execPath,
      here('../helpers/extension.js'),
      redisUrl
    ])
    const extension = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => extension.kill('SIGKILL'))
    const lines = createInterface(extension.stdout)
    const ask = async (/** @type {string} */ question) => {
      extension.stdin.write(`${question} doc:${guid}\n`)
      return JSON.parse(String((await once(lines, 'line', { signal: AbortSignal.timeout(30_000) }))[0]))
    }
    assert.equal(await ask('count'), clients.length)
    await ask('emit')
    const notices = () =>
      clients.map(({ received }) => received.filter(({ event }) => event === 'notice').map(({ payload }) => payload))
    await waitFor(() => notices().every((list) => list.length > 0), { message: notices })
    assert.deepEqual(notices(), clients.map(() => [{ room: `doc:${guid}` }]))
  }
)

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { certificate, startHaproxy } from '../helpers/balancer.js'
import { everyKindWorks, nothingIsLost, sum, workerOf, workersOf } from '../helpers/behind-balancer.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { lacks } from '../services/install.js'
import { freePort, freePorts } from '../services/ports.js'

const skip = await lacks(['haproxy'])
const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))
const { ca, certFile, keyFile } = certificate
const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)

/** @typedef {Awaited<ReturnType<typeof startCluster>> & { env: Record<string, string>, agentPort: number }} Machine */

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Record<string, string>} env
 * @param {Parameters<typeof startCluster>[2]} [options]
 * @returns {Promise<Machine>}
 */
async function startMachine (t, env, options) {
  const agentPort = Number(env.AGENT_PORT ?? await freePort())
  const machine = await startCluster(t, { REDIS_URL, AGENT_PORT: String(agentPort), ...env }, options)
  return { ...machine, agentPort, env: { ...env, PORT: String(machine.port), ADMIN_PORT: String(machine.adminPort), AGENT_PORT: String(agentPort) } }
}

/**
 * @param {readonly Machine[]} machines two
 * @param {'terminate' | 'passthrough'} kind
 */
async function startBalancer (machines, kind) {
  const [port, statsPort, plainPort] = await freePorts(3)
  const server = (/** @type {number} */ i, /** @type {string} */ address, /** @type {number} */ port, /** @type {number} */ adminPort, /** @type {number} */ agentPort) =>
    `server machine${i + 1} ${address}:${port} check port ${adminPort} agent-check agent-port ${agentPort}`
  const status = async () => {
    const csv = await (await fetch(`http://127.0.0.1:${statsPort}/stats;csv`, { signal: AbortSignal.timeout(5000) })).text()
    const [head, ...rows] = csv.split('\n').map((line) => line.replace(/^# /, '').split(','))
    const column = (/** @type {string[]} */ row, /** @type {string} */ name) => row[head.indexOf(name)]
    return rows.filter((row) => row[1]?.startsWith('machine')).map((row) => ({ status: column(row, 'status'), weight: Number(column(row, 'weight')), failed: column(row, 'econ') }))
  }
  const balancer = await startHaproxy(scope, {
    file: `haproxy/${kind}.cfg`,
    replacements: {
      'bind :443': `bind 127.0.0.1:${port}`,
      'bind 127.0.0.1:8404': `bind 127.0.0.1:${statsPort}`,
      ...(kind === 'terminate' ? { 'bind :80': `bind 127.0.0.1:${plainPort}` } : {}),
      ...Object.fromEntries(machines.map((machine, i) => [server(i, `10.0.0.1${i + 1}`, 3000, 9100, 9101), server(i, '127.0.0.1', machine.port, machine.adminPort, machine.agentPort)]))
    },
    answers: status
  })
  return { ...balancer, url: `https://127.0.0.1:${port}`, plainUrl: `http://127.0.0.1:${plainPort}`, status }
}

/** @type {Machine} */
let first
/** @type {Machine} */
let second
/** @type {[Machine, Machine]} */
let alone
/** @type {Awaited<ReturnType<typeof startBalancer>>} */
let terminating
/** @type {Awaited<ReturnType<typeof startBalancer>>} */
let passing
before(async () => {
  if (skip) return
  // passed through, TLS ends at gateways, each of which runs alone here, as in a container
  const tls = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }
  ;[first, second, ...alone] = await Promise.all([
    startMachine(scope, { WORKERS: '2', AGENT_CAPACITY: '20' }),
    startMachine(scope, { WORKERS: '2', AGENT_CAPACITY: '20' }),
    startMachine(scope, tls, { file: GATEWAY }),
    startMachine(scope, tls, { file: GATEWAY })
  ])
  terminating = await startBalancer([first, second], 'terminate')
  passing = await startBalancer(alone, 'passthrough')
}, { timeout: 90_000 })

test('clients of every kind work behind HAProxy that ends TLS and deals out requests in turn', { skip, timeout: 60_000 }, async (t) => {
  await everyKindWorks(t, { url: terminating.url, machines: [first, second], options: { ca } })
  for (const machine of [first, second]) assert.ok(sum(await machine.metrics(), 'inkcast_stray_requests_total', 'result="forwarded"') > 0, 'requests came to other machines than that of their session')
})

test('a page that was opened without TLS is sent to where TLS is', { skip }, async () => {
  const answer = await fetch(`${terminating.plainUrl}/socket.io/?EIO=4&transport=polling`, { redirect: 'manual' })
  assert.equal(answer.status, 308)
  assert.equal(answer.headers.get('location'), `https://${new URL(terminating.plainUrl).host}/socket.io/?EIO=4&transport=polling`)
})

test('clients of every kind work behind HAProxy that passes TLS through', { skip, timeout: 60_000 }, async (t) => {
  const machines = alone.map((machine) => ({ ...machine, post: first.post }))
  await everyKindWorks(t, { url: passing.url, machines, options: { ca } })
})

test('a machine with more connections gets less weight from its agent', { skip, timeout: 60_000 }, async (t) => {
  const weights = async () => (await terminating.status()).map(({ weight }) => weight)
  /** @type {number[]} */
  let last = []
  await waitFor(async () => (last = await weights()).every((weight) => weight > 75), { timeout: 15_000, message: () => last })
  // half of what AGENT_CAPACITY says, past the balancer
  await Promise.all(Array.from({ length: 20 }, () => connectClient(t, first.url)))
  await waitFor(async () => (last = await weights())[0] <= 50 && last[0] > 0 && last[1] > last[0], { timeout: 15_000, message: () => last })
})

test('a machine that is told to stop gets nothing new, nobody misses a record, and it is used again when it is back', { skip, timeout: 90_000 }, async (t) => {
  const staying = await workersOf(t, second.url, 2)
  await waitFor(async () => (await terminating.status()).every(({ status }) => status === 'UP'), { timeout: 15_000, message: 'both machines' })
  await nothingIsLost(t, { url: terminating.url, publisher: second, options: { ca } }, async () => {
    assert.deepEqual(await first.stop(), { code: 0, signal: null })
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))

  /** @type {any} */
  let last
  await waitFor(async () => (last = await terminating.status())[0].status !== 'UP' && last[1].status === 'UP', { timeout: 15_000, message: () => last })
  const during = await Promise.all(Array.from({ length: 8 }, (_, i) => connectClient(t, terminating.url, { ca, transports: [i % 2 ? 'polling' : 'websocket'] })))
  assert.deepEqual(during.filter((client) => !staying.has(workerOf(client))), [])

  first = await startMachine(scope, first.env)
  await waitFor(async () => (last = await terminating.status())[0].status === 'UP' && last[0].weight > 75, { timeout: 15_000, message: () => last })
  const after = await Promise.all(Array.from({ length: 8 }, () => connectClient(t, terminating.url, { ca })))
  assert.ok(after.some((client) => !staying.has(workerOf(client))), 'it is used again')
})

test('a gateway that is killed costs nobody a record', { skip, timeout: 60_000 }, async (t) => {
  const [victim, other] = alone
  const staying = await workersOf(t, other.url, 1, { ca })
  await nothingIsLost(t, { url: passing.url, publisher: second, options: { ca } }, async () => {
    process.kill(victim.pid, 'SIGKILL')
    await victim.exited
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))
  /** @type {any} */
  let last
  await waitFor(async () => (last = await passing.status())[0].status.startsWith('DOWN') && last[1].status === 'UP', { timeout: 15_000, message: () => last })
})

import { test } from 'node:test'
import { certificate, startHaproxy } from '../helpers/balancer.js'
import { killingCostsNothing, stoppingCostsNothing, testBehind, workerOf } from '../helpers/behind-balancer.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { lacks } from '../services/install.js'
import { freePort, freePorts } from '../services/ports.js'

const skip = await lacks(['haproxy'])
const { ca } = certificate
const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)

/** @typedef {Awaited<ReturnType<typeof startCluster>> & { env: Record<string, string>, agentPort: number }} Machine */

/**
 * @param {Record<string, string>} env
 * @param {Parameters<typeof startCluster>[2]} [options]
 * @returns {Promise<Machine>}
 */
async function startMachine (env, options) {
  const agentPort = Number(env.AGENT_PORT ?? await freePort())
  const machine = await startCluster(scope, { REDIS_URL, AGENT_PORT: String(agentPort), ...env }, options)
  return {
    ...machine,
    agentPort,
    env: { ...env, PORT: String(machine.port), ADMIN_PORT: String(machine.adminPort), AGENT_PORT: String(agentPort) }
  }
}

/**
 * @param {readonly Machine[]} machines two
 * @param {'terminate' | 'passthrough'} kind
 */
async function startBalancer (machines, kind) {
  const [port, statsPort, plainPort] = await freePorts(3)
  const server = (
    /** @type {number} */ i,
    /** @type {string} */ address,
    /** @type {number} */ port,
    /** @type {number} */ adminPort,
    /** @type {number} */ agentPort
  ) => `server machine${i + 1} ${address}:${port} check port ${adminPort} agent-check agent-port ${agentPort}`
  const status = async () => {
    const csv = await (
      await fetch(`http://127.0.0.1:${statsPort}/stats;csv`, { signal: AbortSignal.timeout(5000) })
    ).text()
    const [head, ...rows] = csv.split('\n').map((line) => line.replace(/^# /, '').split(','))
    const column = (/** @type {string[]} */ row, /** @type {string} */ name) => row[head.indexOf(name)]
    return rows.filter((row) => row[1]?.startsWith('machine'))
      .map((row) => ({
        status: column(row, 'status'),
        weight: Number(column(row, 'weight')),
        failed: column(row, 'econ')
      }))
  }
  const balancer = await startHaproxy(scope, {
    file: `haproxy/${kind}.cfg`,
    replacements: {
      'bind :443': `bind 127.0.0.1:${port}`,
      'bind 127.0.0.1:8404': `bind 127.0.0.1:${statsPort}`,
      ...(kind === 'terminate' ? { 'bind :80': `bind 127.0.0.1:${plainPort}` } : {}),
      ...Object.fromEntries(
        machines.map((machine, i) => [
          server(i, `10.0.0.1${i + 1}`, 3000, 9100, 9101),
          server(i, '127.0.0.1', machine.port, machine.adminPort, machine.agentPort)
        ])
      )
    },
    answers: status
  })
  return { ...balancer, url: `https://127.0.0.1:${port}`, plainUrl: `http://127.0.0.1:${plainPort}`, status }
}

const scene = testBehind({
  name: 'HAProxy',
  skip,
  startMachine,
  startBalancer,
  settings: { MAX_CONNECTIONS: '200' }
})
const status = () => scene.terminating.status()

test('a machine with more connections gets less weight from its agent', { skip, timeout: 180_000 }, async (t) => {
  const weights = async () => (await status()).map(({ weight }) => weight)
  /** @type {number[]} */
  let last = []
  await waitFor(async () => (last = await weights()).every((weight) => weight > 75), {
    timeout: 60_000,
    message: () => last
  })
  // a quarter of what the worker may have, bypassing the balancer
  await Promise.all(Array.from({ length: 50 }, () => connectClient(t, scene.first.url)))
  await waitFor(async () => (last = await weights())[0] <= 75 && last[1] > 75, { timeout: 60_000, message: () => last })
})

test(
  'a stopping machine gets no new connections, no client misses a record, and it is used again after its restart',
  { skip, timeout: 270_000 },
  async (t) => {
    await waitFor(async () => (await status()).every(({ status }) => status === 'UP'), {
      timeout: 15_000,
      message: 'both machines'
    })
    /** @type {any} */
    let last
    const staying = await stoppingCostsNothing(t, scene, () =>
      waitFor(async () => (last = await status())[0].status !== 'UP' && last[1].status === 'UP', {
        timeout: 15_000,
        message: () => last
      })
    )

    scene.first = await startMachine(scene.first.env)
    await waitFor(async () => (last = await status())[0].status === 'UP' && last[0].weight > 1, {
      timeout: 15_000,
      message: () => last
    })
    // the weight of the other one may be higher
    await waitFor(async () => !staying.has(workerOf(await connectClient(t, scene.terminating.url, { ca }))), {
      timeout: 15_000,
      message: 'a client on the restarted machine'
    })
  }
)

test('killing a gateway loses no record', { skip, timeout: 180_000 }, async (t) => {
  await killingCostsNothing(t, scene)
  /** @type {any} */
  let last
  await waitFor(
    async () => (last = await scene.passing.status())[0].status.startsWith('DOWN') && last[1].status === 'UP',
    { timeout: 15_000, message: () => last }
  )
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { certificate, startNginx } from '../helpers/balancer.js'
import { killingCostsNothing, stoppingCostsNothing, testBehind, workerOf } from '../helpers/behind-balancer.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { lacks } from '../services/install.js'
import { freePorts } from '../services/ports.js'

const skip = await lacks(['nginx', 'nginx-stream'])
const { ca } = certificate
const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Machine */

/**
 * @param {readonly Machine[]} machines two
 * @param {'terminate' | 'passthrough'} kind
 */
async function startBalancer (machines, kind) {
  const [port, plainPort] = await freePorts(2)
  const balancer = await startNginx(scope, {
    file: `nginx/${kind}.conf`,
    replacements: {
      'listen 443': `listen 127.0.0.1:${port}`,
      ...(kind === 'terminate' ? { 'listen 80;': `listen 127.0.0.1:${plainPort};` } : {}),
      ...Object.fromEntries(
        machines.map((machine, i) => [`server 10.0.0.1${i + 1}:3000 `, `server 127.0.0.1:${machine.port} `])
      )
    },
    async answers () {
      const socket = connect({ port, host: '127.0.0.1', ca })
      try {
        await once(socket, 'secureConnect')
      } finally {
        socket.destroy()
      }
    }
  })
  return { ...balancer, url: `https://127.0.0.1:${port}`, plainUrl: `http://127.0.0.1:${plainPort}` }
}

/**
 * @param {Record<string, string>} env
 * @param {Parameters<typeof startCluster>[2]} [options]
 */
const startMachine = (env, options) => startCluster(scope, { REDIS_URL, ...env }, options)
const scene = testBehind({ name: 'nginx', skip, startMachine, startBalancer })

test('a page of the same origin may connect, also on a port of its own', { skip }, async (t) => {
  const { url } = scene.terminating
  for (const transports of [['websocket'], ['polling']]) {
    await connectClient(t, url, { ca, transports, extraHeaders: { origin: url } })
    await assert.rejects(
      connectClient(t, url, { ca, transports, extraHeaders: { origin: 'https://elsewhere.example' } })
    )
  }
})

test(
  'a stopping machine gets no new connections, no client misses a record, and it is used again after its restart',
  { skip, timeout: 270_000 },
  async (t) => {
    const staying = await stoppingCostsNothing(t, scene)
    scene.first = await startMachine({ WORKERS: '1', PORT: String(scene.first.port) })
    await waitFor(
      async () => {
        const client = await connectClient(t, scene.terminating.url, { ca })
        return !staying.has(workerOf(client))
      },
      { timeout: 15_000, message: 'a client on the restarted machine' }
    )
  }
)

test('killing a gateway loses no record', { skip, timeout: 180_000 }, (t) => killingCostsNothing(t, scene))

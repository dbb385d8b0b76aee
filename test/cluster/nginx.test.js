import assert from 'node:assert/strict'
import { once } from 'node:events'
import { before, test } from 'node:test'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { certificate, startNginx } from '../helpers/balancer.js'
import { everyKindWorks, nothingIsLost, sum, workerOf, workersOf } from '../helpers/behind-balancer.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { lacks } from '../services/install.js'
import { freePorts } from '../services/ports.js'

const skip = await lacks(['nginx', 'nginx-stream'])
const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))
const { ca, certFile, keyFile } = certificate
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
      ...Object.fromEntries(machines.map((machine, i) => [`server 10.0.0.1${i + 1}:3000 `, `server 127.0.0.1:${machine.port} `]))
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

/** @type {Machine} */
let first
/** @type {Machine} */
let second
/** @type {Machine[]} */
let alone
/** @type {Awaited<ReturnType<typeof startBalancer>>} */
let terminating
/** @type {Awaited<ReturnType<typeof startBalancer>>} */
let passing
before(async () => {
  if (skip) return
  // passed through, TLS ends at gateways, each of which runs alone here, as in a container
  const tls = { REDIS_URL, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }
  ;[first, second, ...alone] = await Promise.all([
    startCluster(scope, { REDIS_URL, WORKERS: '2' }),
    startCluster(scope, { REDIS_URL, WORKERS: '2' }),
    startCluster(scope, tls, { file: GATEWAY }),
    startCluster(scope, tls, { file: GATEWAY })
  ])
  terminating = await startBalancer([first, second], 'terminate')
  passing = await startBalancer(alone, 'passthrough')
}, { timeout: 90_000 })

test('clients of every kind work behind nginx that ends TLS and deals out requests in turn', { skip, timeout: 60_000 }, async (t) => {
  await everyKindWorks(t, { url: terminating.url, machines: [first, second], options: { ca } })
  for (const machine of [first, second]) assert.ok(sum(await machine.metrics(), 'inkcast_stray_requests_total', 'result="forwarded"') > 0, 'requests came to other machines than that of their session')
})

test('a page that was opened without TLS is sent to where TLS is', { skip }, async () => {
  const answer = await fetch(`${terminating.plainUrl}/socket.io/?EIO=4&transport=polling`, { redirect: 'manual' })
  assert.equal(answer.status, 308)
  assert.equal(answer.headers.get('location'), `https://${new URL(terminating.plainUrl).host}/socket.io/?EIO=4&transport=polling`)
})

test('a page of the same origin may connect, also on a port of its own', { skip }, async (t) => {
  for (const transports of [['websocket'], ['polling']]) {
    await connectClient(t, terminating.url, { ca, transports, extraHeaders: { origin: terminating.url } })
    await assert.rejects(connectClient(t, terminating.url, { ca, transports, extraHeaders: { origin: 'https://elsewhere.example' } }))
  }
})

test('clients of every kind work behind nginx that passes TLS through', { skip, timeout: 60_000 }, async (t) => {
  const machines = alone.map((machine) => ({ ...machine, post: first.post }))
  await everyKindWorks(t, { url: passing.url, machines, options: { ca } })
})

test('a machine that is told to stop gets nothing new, nobody misses a record, and it is used again when it is back', { skip, timeout: 90_000 }, async (t) => {
  const staying = await workersOf(t, second.url, 2)
  await nothingIsLost(t, { url: terminating.url, publisher: second, options: { ca } }, async () => {
    assert.deepEqual(await first.stop(), { code: 0, signal: null })
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))

  const during = await Promise.all(Array.from({ length: 8 }, (_, i) => connectClient(t, terminating.url, { ca, transports: [i % 2 ? 'polling' : 'websocket'] })))
  assert.deepEqual(during.filter((client) => !staying.has(workerOf(client))), [])

  first = await startCluster(scope, { REDIS_URL, WORKERS: '2', PORT: String(first.port) })
  await waitFor(async () => {
    const client = await connectClient(t, terminating.url, { ca })
    return !staying.has(workerOf(client))
  }, { timeout: 15_000, message: 'a client of the machine that is back' })
})

test('a gateway that is killed costs nobody a record', { skip, timeout: 60_000 }, async (t) => {
  const [victim, other] = alone
  const staying = await workersOf(t, other.url, 1, { ca })
  await nothingIsLost(t, { url: passing.url, publisher: second, options: { ca } }, async () => {
    process.kill(victim.pid, 'SIGKILL')
    await victim.exited
  }, (clients) => clients.every((client) => staying.has(workerOf(client))))
})

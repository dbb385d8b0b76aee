import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { io } from 'socket.io-client'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const ADMIN = 'a-token-for-ADMIN_PORT'
const READER = 'a-token-that-reads-only'

test('a cordoned machine gets no new clients, keeps those it has, and takes new ones when it is undone', async (t) => {
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL: redisUrl(), ADMIN_TOKEN: ADMIN, ADMIN_READ_TOKEN: READER, AUTH_ALLOW_ANONYMOUS: 'true'
  })
  /** @param {string} path @param {object} [body] @param {string} [token] */
  async function ask (path, body, token = ADMIN) {
    const answer = await fetch(`${cluster.adminUrl}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) })
    })
    return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
  }
  // while a process pauses for a moment, the answer is 503: try again
  const cordon = (/** @type {boolean} */ cordoned) => waitFor(async () => {
    const { status, body } = await ask('/cordon', { cordoned })
    return status === 503 ? undefined : body
  })
  const isCordoned = (/** @type {boolean} */ expected) => waitFor(async () => {
    const { status, body } = await ask('/cordon', undefined, READER)
    return status === 200 && body.cordoned === expected
  })
  const health = async () => (await fetch(`${cluster.url}/health`)).status
  const connect = () => {
    const client = io(cluster.url, { transports: ['websocket'], forceNew: true, reconnection: false })
    t.after(() => client.disconnect())
    return client
  }

  const client = connect()
  await waitFor(() => client.connected)
  await isCordoned(false)
  assert.equal((await ask('/cordon', { cordoned: true }, READER)).status, 403)
  assert.equal((await ask('/cordon', { cordoned: 'yes' })).status, 400)
  assert.equal(await health(), 200)

  assert.deepEqual(await cordon(true), {
    ok: true, cordoned: true, processes: ['api-0', 'gateway-0', 'gateway-1']
  })
  const { status, body } = await ask('/ready')
  assert.equal(status, 503)
  assert.ok(body.reasons.includes('gateway-0: cordoned') && body.reasons.includes('gateway-1: cordoned'), body.reasons)
  // each connection reaches any of the workers
  for (let i = 0; i < 8; i++) assert.equal(await health(), 503)
  await isCordoned(true)
  assert.ok(client.connected, 'clients stay')
  const late = connect()
  await waitFor(() => late.connected, { message: 'a client that a balancer sends anyway is served' })

  const worker = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')?.pid ?? NaN
  process.kill(worker, 'SIGKILL')
  await waitFor(async () => {
    const { processes, reasons } = (await ask('/ready')).body
    const cordoned = reasons.filter((/** @type {string} */ one) => /^gateway.*cordoned/.test(one))
    return processes.length === 4 && cordoned.length === 2
  }, { timeout: 30_000, message: 'a worker that is started later is cordoned, too' })

  assert.equal((await cordon(false)).ok, true)
  await waitFor(cluster.ready)
  for (let i = 0; i < 4; i++) assert.equal(await health(), 200)
})

test('the load agent says drain for a cordoned machine', async (t) => {
  const port = await freePort()
  const cluster = await startCluster(t, { WORKERS: '1', REDIS_URL: redisUrl(), AGENT_PORT: String(port) })
  const line = () => new Promise((resolve, reject) => {
    let text = ''
    net.connect(port, '127.0.0.1')
      .on('data', (data) => { text += data })
      .on('close', () => resolve(text))
      .on('error', reject)
  })
  assert.match(await line(), /^ready up/)
  await fetch(`${cluster.adminUrl}/cordon`, { method: 'PUT', body: '{"cordoned":true}' })
  await waitFor(async () => await line() === 'drain\n', { message: line })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { waitFor } from '../helpers/wait.js'

const ADMIN = 'a-token-for-ADMIN_PORT'
const READER = 'a-token-that-reads-only'
const CLIENTS = 60

/** @param {import('node:test').TestContext} t */
async function setUp (t) {
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL: redisUrl(), ADMIN_TOKEN: ADMIN, ADMIN_READ_TOKEN: READER
  })
  const clients = Array.from({ length: CLIENTS }, () => {
    const client = createClient(t, cluster.url, { reconnection: true })
    const moves = { count: 0 }
    client.on('disconnect', () => { moves.count++ })
    return Object.assign(client, { moves })
  })
  const connected = () => clients.filter((client) => client.connected).length
  await waitFor(() => connected() === CLIENTS, { timeout: 30_000, message: connected })
  return {
    ...cluster, clients, connected,
    workerOf: (/** @type {{ id?: string }} */ { id }) => String(id).slice(0, 2),
    moved: () => clients.reduce((sum, { moves }) => sum + moves.count, 0),
    /** @param {string} method @param {object} [body] @param {string} [token] */
    async ask (method, body, token = ADMIN) {
      const answer = await fetch(`${cluster.adminUrl}/move`, {
        method, headers: { authorization: `Bearer ${token}` }, body: body && JSON.stringify(body)
      })
      return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
    }
  }
}

test('half of the clients of a machine are moved, and connect again', async (t) => {
  const { ask, moved, connected } = await setUp(t)
  assert.equal((await ask('POST', { share: 0.5, rate: 10 }, READER)).status, 403)
  assert.equal((await ask('POST', { share: 2, rate: 10 })).status, 400)
  assert.equal((await ask('POST', { share: 0.5, rate: 10, process: 'gateway-7' })).status, 404)
  assert.equal(moved(), 0)

  const { body } = await ask('POST', { share: 0.5, rate: 10 })
  assert.deepEqual(Object.keys(body.moving), ['gateway-0', 'gateway-1'])
  const count = body.moving['gateway-0'] + body.moving['gateway-1']
  // half of each worker's, rounded up
  assert.ok(count === CLIENTS / 2 || count === CLIENTS / 2 + 1, `${count}`)
  const { left } = (await ask('GET', undefined, READER)).body
  assert.ok(left['gateway-0'] + left['gateway-1'] > 0)
  await waitFor(() => moved() === count && connected() === CLIENTS, {
    timeout: 20_000, message: () => [moved(), connected()]
  })
  assert.deepEqual((await ask('GET')).body.left, { 'gateway-0': 0, 'gateway-1': 0 })
})

test('the clients of one worker move to the other one, and it accepts again later', async (t) => {
  const { ask, clients, workerOf, connected, moved, url } = await setUp(t)
  // one worker may have taken all of them
  await waitFor(async () => {
    if (new Set(clients.map(workerOf)).size > 1) return true
    clients[0].disconnect().connect()
    await waitFor(() => clients[0].connected)
    return false
  }, { timeout: 30_000, message: 'clients on both workers' })
  for (const { moves } of clients) moves.count = 0
  const before = new Map(clients.map((client) => [client, workerOf(client)]))
  const { body } = await ask('POST', { share: 1, rate: 50, process: 'gateway-0' })
  const count = body.moving['gateway-0']
  assert.ok(count > 0 && count < CLIENTS, `${count} of gateway-0`)
  await waitFor(() => moved() === count && connected() === CLIENTS, {
    timeout: 20_000, message: () => [moved(), connected()]
  })
  assert.equal(new Set(clients.map(workerOf)).size, 1, 'all are on one worker')
  assert.equal(clients.filter((client) => before.get(client) !== workerOf(client)).length, count)
  const [full] = clients.map(workerOf)
  await waitFor(async () => {
    const late = createClient(t, url)
    await waitFor(() => late.connected)
    return workerOf(late) !== full
  }, { timeout: 30_000, message: 'the worker accepts again' })
})

test('a move that is stopped moves nobody any more', async (t) => {
  const { ask, moved } = await setUp(t)
  await ask('POST', { share: 1, rate: 2 })
  await waitFor(() => moved() > 0)
  const { body } = await ask('DELETE')
  assert.deepEqual(body.left, { 'gateway-0': 0, 'gateway-1': 0 })
  const then = moved()
  await new Promise((resolve) => { setTimeout(resolve, 1500) })
  assert.ok(moved() <= then + 1)
})

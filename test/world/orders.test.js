import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { workerOfSid } from '../../src/wire/session-id.js'

const { workerOrders } = createKeys()

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} ScriptedClient
 */

/** @param {ScriptedClient} client @param {string} [guid] @returns {Promise<any>} the answer */
const sendFrom = (client, guid = 'd') => client.ask('doc:send', { guid, data: 1 })

/**
 * @type {Record<string, (uid: string, guid: string) => [method: string, path: string,
 *   options?: { headers: Record<string, string> }]>} */
const ORDERS = {
  revoke: (uid, guid) => ['POST', `/v1/documents/${guid}/revoke`, { headers: { 'x-uid': uid } }],
  kick: (uid) => ['DELETE', `/v1/users/${uid}/connections`],
  ban: (uid) => ['DELETE', `/v1/users/${uid}/connections`, { headers: { 'x-ttl': '600' } }],
  close: (_, guid) => ['DELETE', `/v1/documents/${guid}/connections`],
  leave: (uid, guid) => ['DELETE', `/v1/users/${uid}/documents/${guid}`],
  join: (uid, guid) => ['POST', `/v1/users/${uid}/documents/${guid}`]
}

/**
 * @param {ScriptedCluster} cluster
 * @param {string} operator
 * @param {string} uid
 * @param {string} [guid]
 * @returns {Promise<void>} it is accepted; repeated while it is refused for now, as a service does
 */
async function order (cluster, operator, uid, guid = 'd') {
  const request = ORDERS[operator](uid, guid)
  for (let tries = 0; tries < 200; tries++) {
    const { status, body } = await cluster.request(...request)
    if (status >= 200 && status < 300) return
    assert.equal(body.error?.code, 'unavailable', `${request}: ${status} ${JSON.stringify(body)}`)
    await cluster.pass(50)
  }
  assert.fail(`${operator} of ${uid} is refused`)
}

/** A worker, with clients that have joined a document. @param {ScriptedCluster} cluster @param {number} count */
async function workerWithClients (cluster, count) {
  const [slot] = cluster.gateways
  /** @type {ScriptedClient[]} */
  const clients = []
  for (let i = 0; i < count; i++) {
    const client = await cluster.connect(`user-${i}`, { on: slot, socket: { reconnection: false } })
    assert.equal((await client.ask('doc:join', { guid: 'd', state: { at: 1 } })).ok, true)
    clients.push(client)
  }
  return { process: slot.running.process, clients }
}

/** Longer than the lease of a worker. */
const PAST_LEASE = 11_000

test('a worker that is cut off from Redis takes nothing from its clients, and of revoked, kicked and banned users nothing after it either',
  () => inCluster({ kafka: true, workers: 2 }, async (cluster) => {
    const { process, clients } = await workerWithClients(cluster, 8)
    assert.equal((await sendFrom(clients[0])).ok, true)
    const sent = () => cluster.uplink.filter(({ headers }) => headers['x-operator'] === 'message').length
    await cluster.until(() => sent() === 1)

    cluster.cutOff(process, 'redis', 600_000)
    await cluster.pass(PAST_LEASE)
    // the last two keep their rights
    for (const [i, { uid }] of clients.slice(0, 6).entries()) await order(cluster, ['revoke', 'kick', 'ban'][i % 3], uid)
    for (const client of clients) {
      const { error } = await sendFrom(client)
      assert.deepEqual([error?.code, error?.retryable], ['unavailable', true])
    }
    for (const [event, more] of /** @type {const} */ ([
      ['doc:join', {}], ['doc:signal', { event: 'cursor', data: 1 }], ['doc:state', { state: {} }], ['doc:history', {}],
      ['doc:members', {}]
    ])) {
      const { error } = await clients[7].ask(event, { guid: 'd', ...more })
      assert.deepEqual([event, error?.code, error?.retryable], [event, 'unavailable', true])
    }
    assert.equal(sent(), 1)

    cluster.world.network.unblock()
    // clients send on while the worker comes back
    const accepted = new Set()
    for (let round = 0; round < 40; round++) {
      for (const [i, client] of clients.entries()) {
        if (!client.connected || client.got('doc:revoked').length > 0) continue
        const answer = await sendFrom(client).catch(() => ({}))
        if (answer.ok) accepted.add(i)
      }
      await cluster.pass(100)
    }
    assert.deepEqual([...accepted].sort(), [6, 7], 'the clients that have their rights')
    for (const client of clients.slice(0, 6)) assert.ok(!client.connected || client.got('doc:revoked').length === 1)
  }))

test('a worker whose lease had ended, and which continues, closes what was closed meanwhile', () =>
  inCluster({ workers: 2 }, async (cluster) => {
    const { process, clients } = await workerWithClients(cluster, 4)
    cluster.cutOff(process, 'redis', 600_000)
    await cluster.pass(PAST_LEASE)
    await order(cluster, 'close', '')
    assert.ok(clients.every((client) => client.got('doc:closed').length === 0))
    cluster.world.network.unblock()
    await cluster.until(() => clients.every((client) => client.got('doc:closed').length === 1))
  }))

test('an order from Kafka that a worker does not carry out is retried: the others do it once, not again to clients that came back', () =>
  inCluster({ workers: 2, kafka: true }, async (cluster) => {
    const [first, second] = cluster.gateways
    const client = await cluster.connect('ada', { on: first })
    assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
    cluster.cutOff(second.running.process, 'redis', 600_000)
    await cluster.produce({ 'x-operator': 'close', 'x-guid': 'd' }, {})
    await cluster.until(() => client.got('doc:closed').length === 1)
    assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
    await cluster.pass(PAST_LEASE)
    assert.equal(client.got('doc:closed').length, 1)
  }))

test('orders that nobody reads do not block others: they are dropped, and if their worker continues, its clients reconnect',
  () => inCluster({ workers: 2 }, async (cluster) => {
    const { process, clients: [client] } = await workerWithClients(cluster, 1)
    const kept = workerOrders(Number(workerOfSid(String(client.id))))
    cluster.cutOff(process, 'redis', 600_000)
    await cluster.command('HSET', kept, ...Array.from({ length: 10_000 }, (_, i) => [`id-${i}`, 'x']).flat())
    const refused = await cluster.request('DELETE', `/v1/users/${client.uid}/connections`)
    assert.equal(refused.body.error?.code, 'unavailable', 'its lease is still valid')
    // accepted as soon as the lease has ended
    for (let i = 0; i < 3; i++) await order(cluster, 'leave', client.uid)
    assert.equal(await cluster.command('HLEN', kept), 3)
    cluster.world.network.unblock()
    await cluster.until(() => client.ends.length > 0)
  }))

test('orders in the moments after Redis has lost its data are carried out, or refused as unavailable', () =>
  inCluster({ workers: 2 }, async (cluster) => {
    /** @type {ScriptedClient[]} */
    const clients = []
    for (const [i, uid] of ['ada', 'bob', 'cyd', 'dan'].entries())
      clients.push(await cluster.connect(uid, { on: cluster.gateways[i % 2] }))
    for (const after of [0, 20, 100, 200, 300, 600]) {
      const [d, e, f] = ['d', 'e', 'f'].map((name) => `${name}-${after}`)
      for (const client of clients) {
        assert.equal((await client.ask('doc:join', { guid: d })).ok, true)
        assert.equal((await client.ask('doc:join', { guid: e })).ok, true)
      }
      // the api knows the workers
      await order(cluster, 'close', '', 'none')
      await cluster.command('FLUSHALL')
      await cluster.pass(after)
      await order(cluster, 'close', '', d)
      for (const { uid } of clients) await order(cluster, 'leave', uid, e)
      for (const { uid } of clients) await order(cluster, 'join', uid, f)
      const guidsOf = (/** @type {ScriptedClient} */ client, /** @type {string} */ event) =>
        client.got(event).map(({ guid }) => guid).filter((guid) => guid.endsWith(`-${after}`))
      await cluster.until(() => clients.every((client) =>
        guidsOf(client, 'doc:closed').length === 2 && guidsOf(client, 'doc:joined').includes(f)), {
        message: () => clients.map(({ received }) => received.slice(-8))
      })
      for (const client of clients) {
        assert.deepEqual(guidsOf(client, 'doc:closed').sort(), [d, e])
        assert.equal(guidsOf(client, 'doc:joined').filter((guid) => guid === f).length, 1)
      }
    }
  }))

test('a process with the number of a dead worker carries out none of its orders', () =>
  inCluster({ workers: 1 }, async (cluster) => {
    const [slot] = cluster.gateways
    slot.restarts = false
    const before = await cluster.connect('ada', { socket: { reconnection: false } })
    const number = before.id?.slice(0, 2)
    cluster.kill(slot)
    // orders about documents reach each worker whose lease may be valid
    for (const [operator, guid] of [['close', 'd'], ['leave', 'd'], ['join', 'e']])
      await cluster.request(...ORDERS[operator]('ada', guid))
    const orders = await cluster.command('HLEN', workerOrders(0))
    assert.ok(orders > 0, 'it has orders that it never read')
    slot.running = slot.start()
    slot.restarts = true
    const client = await cluster.connect('ada')
    assert.equal(client.id?.slice(0, 2), number)
    assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
    // what would be read now
    await order(cluster, 'leave', 'ada', 'x')
    await cluster.pass(2000)
    assert.equal((await client.ask('doc:history', { guid: 'd' })).ok, true)
    assert.deepEqual(client.received.map(({ event }) => event), [])
    assert.equal(await cluster.command('HLEN', workerOrders(0)), 0)
  }))

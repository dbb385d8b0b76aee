import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { slotOf } from '../simulation/parts/redis/keys-of.js'
import { signToken } from '../simulation/parts/tokens.js'

const { userWorkers, workerOrders, workers: WORKERS } = createKeys()

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} ScriptedClient
 */

/** Longer than a lease, and than any doubt about the workers, ms. */
const LONG = 20_000

/** @param {ScriptedCluster} cluster @param {string} key @returns its master */
const masterOf = ({ redis: { servers } }, key) => servers[Math.floor(slotOf(key) * servers.length / 16_384)]

/** @param {ReturnType<typeof masterOf>} server */
const flush = (server) => server.process.enter('FLUSHALL', () => server.store.keyspace.clear())

/**
 * The api is killed, and the next process is ready.
 * @param {ScriptedCluster} cluster
 * @param {() => void} [meanwhile] called when the next process has begun to start
 */
async function restartApi (cluster, meanwhile = () => {}) {
  const [api] = cluster.cluster.slots.filter(({ name }) => name.includes('api'))
  const { process } = api.running
  cluster.kill(api)
  await cluster.until(() => api.running.process !== process)
  meanwhile()
  await cluster.until(() => api.running.isReady)
}

/** A user with a connection to each worker, and a document. @param {ScriptedCluster} cluster @param {string} uid */
async function tabsOf (cluster, uid) {
  /** @type {ScriptedClient[]} */
  const tabs = []
  const auth = { token: signToken({ sub: uid, iat: Math.floor(cluster.world.wall / 1000) - 5 }) }
  for (const on of cluster.gateways) {
    const tab = await cluster.connect(uid, { on, auth })
    assert.equal((await tab.ask('doc:join', { guid: 'd' })).ok, true)
    tabs.push(tab)
  }
  return tabs
}

/**
 * Repeats an order until it is accepted, as a service does: then it is carried out.
 * @param {ScriptedCluster} cluster
 * @param {ScriptedClient[]} tabs
 * @param {[method: string, path: string, options?: { headers: Record<string, string> }]} order
 * @param {string} event that each client gets
 * @returns {Promise<number>} how often it was refused
 */
async function orderOn (cluster, tabs, order, event) {
  for (let refused = 0; refused < 400; refused++) {
    const { status } = await cluster.request(...order)
    if (status === 202) {
      // what is on its way to the page
      await cluster.pass(30)
      for (const tab of tabs) assert.equal(tab.got(event).length, 1, `${order[1]} after ${refused} refusals`)
      return refused
    }
    assert.equal(status, 503)
    await cluster.pass(50)
  }
  assert.fail(`${order[1]} is refused`)
}

/** @param {string} uid @returns {Parameters<typeof orderOn>[2]} */
const revokeOf = (uid) => ['POST', '/v1/documents/d/revoke', { headers: { 'x-uid': uid } }]
/** @type {Parameters<typeof orderOn>[2]} */
const CLOSE = ['DELETE', '/v1/documents/d/connections']

for (const isFresh of [false, true]) {
  const who = isFresh ? 'an api that has just started' : 'an api that runs'
  test(`one node of Redis Cluster loses its data: ${who} accepts orders about its users when workers have registered them again`,
    () => inCluster({ redis: 'shards' }, async (cluster) => {
      const workers = masterOf(cluster, WORKERS.registry)
      const uids = Array.from({ length: 50 }, (_, i) => `user-${i}`)
      const uid = String(uids.find((one) => masterOf(cluster, userWorkers(one)) !== workers))
      const other = String(uids.find((one) => masterOf(cluster, userWorkers(one)) === workers))
      const [tabs, others] = [await tabsOf(cluster, uid), await tabsOf(cluster, other)]
      await cluster.pass(LONG)
      const lose = () => flush(masterOf(cluster, userWorkers(uid)))
      if (isFresh) await restartApi(cluster, lose)
      else lose()
      const ofOther = await orderOn(cluster, others, revokeOf(other), 'doc:revoked')
      // while the api starts a worker may begin to register its users again, which holds up all orders for a moment
      assert.ok(ofOther <= (isFresh ? 10 : 0), `another node has lost nothing: ${ofOther} refusals`)
      assert.ok(ofOther + await orderOn(cluster, tabs, revokeOf(uid), 'doc:revoked') > 0)
      for (const tab of tabs) assert.equal((await tab.ask('doc:join', { guid: 'd' })).error.code, 'forbidden')
    }))
}

test('Redis loses its data before an api is started: orders are refused until the workers are known again', async () => {
  for (const order of [CLOSE, revokeOf('ada')]) {
    await inCluster({ workers: 3 }, async (cluster) => {
      const tabs = await tabsOf(cluster, 'ada')
      await cluster.pass(LONG)
      flush(cluster.redis.servers[0])
      await restartApi(cluster)
      assert.ok(await orderOn(cluster, tabs, order, order === CLOSE ? 'doc:closed' : 'doc:revoked') > 0)
    })
  }
})

test('Redis loses its data before an api and a worker are started: the first worker in the new data does not stand for the others',
  () => inCluster({ workers: 3 }, async (cluster) => {
    const tabs = await tabsOf(cluster, 'ada')
    await cluster.pass(LONG)
    cluster.kill(cluster.gateways[0])
    await cluster.pass(100)
    flush(cluster.redis.servers[0])
    await restartApi(cluster)
    await cluster.until(() => cluster.gateways[0].running.isReady)
    await orderOn(cluster, tabs.slice(1), CLOSE, 'doc:closed')
  }))

test('a worker that an api does not know yet, as it has just started, is waited for after a loss of data', async () => {
  // the api looks at the workers every 5 s
  for (const later of [0, 1000, 2000, 3000, 4000]) {
    await inCluster({ workers: 3 }, async (cluster) => {
      const [, , third] = cluster.gateways
      third.restarts = false
      cluster.kill(third)
      await cluster.pass(LONG + later)
      third.running = third.start()
      await cluster.until(() => third.running.isReady)
      const client = await cluster.connect('ada', { on: third })
      assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
      flush(cluster.redis.servers[0])
      assert.ok(await orderOn(cluster, [client], CLOSE, 'doc:closed') > 0)
    })
  }
})

test('an api that starts while nothing is lost accepts orders at once', () => inCluster({}, async (cluster) => {
  const tabs = await tabsOf(cluster, 'ada')
  await cluster.pass(LONG)
  await restartApi(cluster)
  assert.equal(await orderOn(cluster, tabs, CLOSE, 'doc:closed'), 0)
}))

test('an order that Redis loses before its worker reads it is refused, a retry works', () => inCluster({ workers: 1 }, async (cluster) => {
  const ada = await cluster.connect('ada')
  assert.equal((await ada.ask('doc:join', { guid: 'd' })).ok, true)
  await cluster.pass(LONG)
  const [{ process, store }] = cluster.redis.servers
  const kept = workerOrders(0)
  process.enter('cut pub/sub', () => {
    for (const connection of [...store.connections]) if (connection.isSubscriber) connection.destroy()
  })
  let lost = 0
  const lose = () => {
    if (store.keyspace.delete(kept)) lost++
    else cluster.world.schedule(1, 'lose', lose, process)
  }
  process.enter('lose', lose)
  assert.ok(await orderOn(cluster, [ada], revokeOf('ada'), 'doc:revoked') > 0)
  assert.equal(lost, 1)
}))

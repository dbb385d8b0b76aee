import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { slotOf } from '../simulation/parts/redis/keys-of.js'

const { workers: WORKERS, documentHolders, userHolders, userWorkers } = createKeys()

const DOCUMENTS = 3
/** From the end of a worker to the end of its second cleanup, ms. */
const CLEANED_TWICE = 115_000

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** @param {ScriptedCluster} cluster @returns {string[]} life-cycle events, as `operator uid guid reason` */
const events = (cluster) => cluster.uplink.map(({ headers, value }) =>
  [headers['x-operator'], headers['x-uid'], headers['x-guid'], value.reason].filter(Boolean).join(' '))

/** @param {ScriptedCluster} cluster @param {string} uid */
const sessionsOf = async (cluster, uid) => (await cluster.request('GET', `/v1/users/${uid}/sessions`)).body.sessions

test('the api lists the sessions of a user on two workers, and events report their life cycle', () =>
  inCluster({ kafka: true }, async (cluster) => {
    const tabs = []
    for (const on of cluster.gateways)
      tabs.push(await cluster.connect('ada', { on, auth: { client: `tab ${tabs.length}` } }))
    for (const tab of tabs) await tab.ask('doc:join', { guid: 'a' })
    await cluster.pass(3000)
    const found = new Map((await sessionsOf(cluster, 'ada')).map((/** @type {any} */ session) => [session.sid, session]))
    assert.equal(new Set([...found.values()].map(({ worker }) => worker)).size, 2)
    for (const [i, { id }] of tabs.entries()) {
      const { client, transport, documents, connectedAt, lastSeen } = found.get(id)
      assert.deepEqual({ client, transport, documents }, { client: `tab ${i}`, transport: 'websocket', documents: ['a'] })
      assert.ok(connectedAt <= lastSeen && lastSeen <= cluster.world.wall)
    }
    await tabs[1].close()
    await cluster.pass(3000)
    assert.equal((await sessionsOf(cluster, 'ada')).length, 1)
    await tabs[0].close()
    await cluster.until(() => events(cluster).includes('offline ada closed'), { message: () => events(cluster) })
    await cluster.pass(3000)
    assert.deepEqual(
      events(cluster).sort(), ['joined ada a', 'left ada a closed', 'offline ada closed', 'online ada', 'vacated a'])
    assert.deepEqual(await sessionsOf(cluster, 'ada'), [])
  }))

test('after a worker is killed its users go offline and its documents are vacated, once each, and counts are correct',
  () => inCluster({ kafka: true }, async (cluster) => {
    const [first, second] = cluster.gateways
    // every other client shares a document with some; each of the others has its own
    const guidOf = (/** @type {number} */ i) => i % 2 === 0 ? `shared-${i % DOCUMENTS}` : `own-${i}`
    /** @type {{ uid: string, guid: string, page: Awaited<ReturnType<ScriptedCluster['connect']>> }[]} */
    const all = []
    for (let i = 0; i < 12; i++) {
      const page = await cluster.connect(`user-${i}`, { socket: { reconnection: false } })
      all.push({ uid: `user-${i}`, guid: guidOf(i), page })
    }
    for (const { page, guid } of all) await page.ask('doc:join', { guid })
    const [gone, left] = [first, second].map((slot) => all.filter(({ page }) => cluster.slotOf(page) === slot))
    assert.ok(gone.length > 0 && left.length > 0)
    await cluster.until(() => events(cluster).length === 2 * all.length, { message: () => events(cluster) })
    cluster.kill(first)
    await cluster.pass(40_000)
    assert.ok(gone.every(({ page }) => !page.connected) && left.every(({ page }) => page.connected))
    const vacated = new Set(gone.map(({ guid }) => guid).filter((guid) => !left.some((other) => other.guid === guid)))
    const ends = events(cluster).filter((event) => !/^(online|joined) /.test(event))
    assert.deepEqual(ends.sort(), [
      ...gone.flatMap(({ uid, guid }) => [`left ${uid} ${guid} worker_gone`, `offline ${uid} worker_gone`]),
      ...[...vacated].map((guid) => `vacated ${guid}`)
    ].sort())
    for (const { uid, guid } of all) {
      const held = await cluster.command('HKEYS', documentHolders(guid))
      const here = left.filter((one) => one.guid === guid).map((one) => one.uid)
      assert.deepEqual(held.filter(Boolean).sort(), here.sort())
      assert.equal((await sessionsOf(cluster, uid)).length, left.some((one) => one.uid === uid) ? 1 : 0)
    }
  }))

/** Longest time between two renewals of a lease, which notice the loss, and some for the rest, ms. */
const NOTICED = 5000

for (const [name, redis] of /** @type {const} */ ([['Redis', 'single'], ['one node of Redis Cluster', 'shards']])) {
  test(`${name} is flushed while its connections stay open: users are reached, and events published, within seconds`,
    () => inCluster({ kafka: true, redis, env: { PRESENCE_GRACE: '0' } }, async (cluster) => {
      const serverOf = (/** @type {string} */ key) => redis === 'single' ? 0 : Math.floor(slotOf(key) * 3 / 16_384)
      // with Redis Cluster both users, but not the workers, are on the flushed node
      const found = Array.from({ length: 100 }, (_, i) => `user-${i}`)
        .filter((uid) => redis === 'single' || serverOf(userWorkers(uid)) !== serverOf(WORKERS.owners))
      const [ada, bob] = found.filter((uid) => serverOf(userWorkers(uid)) === serverOf(userWorkers(found[0])))
      const server = cluster.redis.servers[serverOf(userWorkers(ada))]
      const has = (/** @type {string} */ key) => server.store.keyspace.entry(key) !== undefined
      const page = await cluster.connect(ada, { socket: { reconnection: false } })
      const other = await cluster.connect(bob)
      await cluster.pass(3000)
      assert.deepEqual(events(cluster).sort(), [`online ${ada}`, `online ${bob}`])
      assert.deepEqual([has(userHolders(ada)), has(userWorkers(ada))], [true, true])

      const { time } = cluster
      const soon = () => ({ timeout: time + NOTICED - cluster.time, message: () => events(cluster) })
      server.process.enter('FLUSHALL', () => { server.store.keyspace.clear() })
      await cluster.pass(0)
      assert.deepEqual([has(userHolders(ada)), has(userWorkers(ada))], [false, false])
      // a user who leaves before the worker detects the loss
      await other.close()
      await cluster.until(() => has(userHolders(ada)) && has(userWorkers(ada)), soon())
      await cluster.until(() => events(cluster).length === 3, soon())
      const before = [`offline ${bob} closed`, `online ${ada}`, `online ${bob}`]
      assert.deepEqual(events(cluster).sort(), before)

      // orders are refused until no worker can be missing, docs/api.md
      const kick = () => cluster.request('DELETE', `/v1/users/${ada}/connections`)
      for (let tries = 0; tries < 20 && (await kick()).status === 503; tries++) await cluster.pass(1000)
      assert.equal((await kick()).status, 202)
      assert.equal(page.connected, false)
      assert.deepEqual(page.got('gateway:disconnect').map(({ code }) => code), ['kicked'])
      await cluster.pass(5000)
      assert.deepEqual(events(cluster).sort(), [`offline ${ada} kicked`, ...before])
    }))
}

/** @param {string} key @returns {number} index of the node of Redis Cluster */
const nodeOf = (key) => Math.floor(slotOf(key) * 3 / 16_384)
/** Names whose holders are, or are not, on the node that will be down; on it is nothing of the workers. */
const DOWN = 1
/** @param {(name: string) => string} keyOf @param {boolean} isDown */
const namesOn = (keyOf, isDown) => Array.from({ length: 100 }, (_, i) => `name-${i}`)
  .filter((name) => (nodeOf(keyOf(name)) === DOWN) === isDown)

test('while a node of Redis Cluster is down, events of users and documents of other nodes are published; its own follow later',
  () => inCluster({ kafka: true, redis: 'shards', env: { PRESENCE_GRACE: '0' } }, async (cluster) => {
    const [[ada], [bob, cyd, dan]] = [true, false].map((isDown) => namesOn(userHolders, isDown))
    const [[far], [near]] = [true, false].map((isDown) => namesOn(documentHolders, isDown))
    const [first, second, third] = [await cluster.connect(ada), await cluster.connect(bob), await cluster.connect(cyd)]
    for (const page of [first, second, third])
      for (const guid of [near, far]) assert.equal((await page.ask('doc:join', { guid })).ok, true)
    await cluster.until(() => events(cluster).length === 9, { message: () => events(cluster) })

    const before = new Set(events(cluster))
    const server = cluster.redis.servers[DOWN]
    server.restart(server.store.snapshot(), 4500)
    // a change that cannot be written
    await first.close()
    await cluster.pass(500)
    await second.close()
    const later = await cluster.connect(dan)
    assert.equal((await later.ask('doc:join', { guid: near })).ok, true)
    await third.ask('doc:leave', { guid: near })
    const wanted = [
      `joined ${dan} ${near}`, `left ${ada} ${near} closed`, `left ${bob} ${near} closed`, `left ${cyd} ${near} left`,
      `offline ${bob} closed`, `online ${dan}`
    ]
    const found = () => events(cluster).filter((event) => !before.has(event)).sort()
    await cluster.until(() => found().length === wanted.length, { timeout: 2500, message: found })
    assert.deepEqual(found(), wanted)
    assert.equal(server.isAlive, false)

    wanted.push(`left ${ada} ${far} closed`, `left ${bob} ${far} closed`, `offline ${ada} closed`)
    await cluster.until(() => found().length === wanted.length, { timeout: 10_000, message: found })
    assert.deepEqual(found(), wanted.sort())
  }))

test('a worker is killed while a node of Redis Cluster is down: its users of other nodes go offline meanwhile, the others later',
  () => inCluster({ kafka: true, redis: 'shards', env: { PRESENCE_GRACE: '0' } }, async (cluster) => {
    const [on] = cluster.gateways
    const [[ada], [bob]] = [true, false].map((isDown) => namesOn(userHolders, isDown))
    const [[far], [near]] = [true, false].map((isDown) => namesOn(documentHolders, isDown))
    for (const uid of [ada, bob]) {
      const page = await cluster.connect(uid, { on, socket: { reconnection: false } })
      for (const guid of [near, far]) assert.equal((await page.ask('doc:join', { guid, state: {} })).ok, true)
    }
    await cluster.pass(3000)
    const found = () => events(cluster).filter((event) => event.endsWith('worker_gone') || event.startsWith('vacated')).sort()
    const server = cluster.redis.servers[DOWN]
    server.restart(server.store.snapshot(), 4500)
    cluster.kill(on)
    const wanted = [
      `left ${ada} ${near} worker_gone`, `left ${bob} ${near} worker_gone`, `offline ${bob} worker_gone`, `vacated ${near}`
    ]
    await cluster.until(() => found().length === wanted.length, { timeout: 4400, message: found })
    assert.deepEqual(found(), wanted)
    assert.equal(server.isAlive, false)
    wanted.push(
      `left ${ada} ${far} worker_gone`, `left ${bob} ${far} worker_gone`, `offline ${ada} worker_gone`, `vacated ${far}`)
    await cluster.until(() => found().length === wanted.length, { timeout: 30_000, message: found })
    assert.deepEqual(found(), wanted.sort())
  }))

for (const isKilled of [false, true]) {
  const which = isKilled ? 'was killed' : 'continues'
  test(`online and offline are sent although a registration arrived after the cleanup of its worker, which ${which}`, () => {
    /** When the registration leaves its worker; known from the first play. @type {number | undefined} */
    let at
    let worker = 0
    const play = () => inCluster({ kafka: true, env: { PRESENCE_GRACE: '0' } }, async (cluster) => {
      await cluster.pass(5000)
      const { store } = cluster.redis.servers[0]
      const bob = cluster.open('bob', { socket: { reconnection: false } })
      if (at === undefined) {
        await cluster.until(() => store.keyspace.entry(userHolders('bob')) !== undefined)
        at = cluster.time
        await cluster.until(() => bob.connected)
        worker = cluster.gateways.findIndex((slot) => slot === cluster.slotOf(bob))
        return
      }
      await cluster.pass(at - 0.1 - cluster.time)
      const slot = cluster.gateways[worker]
      cluster.cutOff(slot.running.process, 'redis', 600_000)
      await cluster.pass(5000)
      if (isKilled) cluster.kill(slot)
      await cluster.pass(25_000)
      assert.deepEqual(events(cluster), [])
      cluster.world.network.unblock()
      const last = isKilled ? await cluster.connect('bob', { socket: { reconnection: false } }) : bob
      await cluster.pass(10_000 + CLEANED_TWICE)
      assert.deepEqual(events(cluster), ['online bob'])
      await last.close()
      await cluster.pass(5000)
      assert.deepEqual(events(cluster), ['online bob', 'offline bob closed'])
    })
    return play().then(play)
  })
}

import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { slotOf } from '../simulation/parts/redis/keys-of.js'
import { workerOfSid } from '../../src/wire/session-id.js'
import { PresenceChecker } from '../simulation/oracle/presence-checker.js'

const { documentPresence, everyoneChannel, workerPresence, workers: WORKERS } = createKeys()

/** @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} Client */

/** @param {import('../simulation/script/scripted-cluster.js').ScriptedCluster} cluster */
const listed = async (cluster) => (await cluster.request('GET', '/v1/documents/doc/presence')).body

test('members of two workers form one list; a closed tab and the clients of a killed worker leave once', () =>
  inCluster({ env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const [here, there] = cluster.gateways
    const watcher = await cluster.connect('watcher', { on: here })
    await watcher.ask('doc:join', { guid: 'doc', state: { watching: true } })
    const clients = []
    for (let i = 0; i < 6; i++) {
      const on = i % 2 ? here : there
      const client = await cluster.connect(`user-${i}`, { on, socket: { reconnection: false } })
      assert.equal((await client.ask('doc:join', { guid: 'doc', state: { i } })).ok, true)
      clients.push(client)
    }
    const told = () => watcher.got('doc:presence')
    const count = () => told().at(-1)?.count
    await cluster.until(() => count() === 7)
    const joined = told().flatMap(({ joined, members = [] }) => [...joined, ...members]).map(({ uid }) => uid)
    assert.deepEqual([...new Set(joined)].sort(), ['watcher', ...clients.map(({ uid }) => uid)].sort())
    const { count: number, members } = await listed(cluster)
    assert.deepEqual([number, members.length], [7, 7])

    const [closed, ...rest] = clients.filter((client) => cluster.slotOf(client) === there)
    const ids = [closed, ...rest].map(({ id }) => id)
    await closed.close()
    await cluster.until(() => told().some(({ left }) => left.includes(ids[0])))
    assert.equal(count(), 6)
    cluster.kill(there)
    await cluster.until(() => count() === 4)
    await cluster.pass(15_000)
    assert.deepEqual(told().flatMap(({ left }) => left).sort(), ids.sort())
  }))

test('a gateway that starts after another worker died cleans up after it', () =>
  inCluster({ env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const [here, there] = cluster.gateways
    // only the one that stays is there while the other one dies, and it is killed before it can clean up
    const ada = await cluster.connect('ada', { on: there, socket: { reconnection: false } })
    await ada.ask('doc:join', { guid: 'doc', state: {} })
    assert.equal((await listed(cluster)).count, 1)
    for (const slot of cluster.gateways) slot.restarts = false
    for (const slot of cluster.gateways) cluster.kill(slot)
    await cluster.pass(60_000)
    assert.equal((await listed(cluster)).count, 1, 'nothing cleans up')
    here.restarts = true
    here.running = here.start()
    await cluster.until(() => here.running.isReady)
    await cluster.pass(2000)
    assert.equal((await listed(cluster)).count, 0)
    const unclean = await cluster.command('ZRANGE', WORKERS.unclean, 0, -1)
    assert.deepEqual(unclean.filter((/** @type {string} */ name) => !name.endsWith('~')), [])
  }))

/**
 * A page that follows the members of a document from its join on, as docs/protocol-details.md says.
 * @param {import('../simulation/script/scripted-cluster.js').ScriptedCluster} cluster
 * @param {string} uid
 * @param {import('../simulation/parts/cluster.js').Slot} on
 */
async function member (cluster, uid, on) {
  const client = await cluster.connect(uid, { on })
  /** @type {any} */
  let answer
  return {
    client,
    async join () {
      answer = await client.ask('doc:join', { guid: 'doc', state: {} })
      assert.equal(answer.ok, true)
    },
    /** @returns {string} uids that it shows; each has one connection */
    get shown () {
      /** @type {Map<string, string>} */
      let shown = new Map()
      let known = 0
      for (const { members, version, joined = [], left = [] } of [answer, ...client.got('doc:presence')]) {
        if (!members && version <= known) continue
        known = version
        if (members) shown = new Map()
        for (const id of left) shown.delete(id)
        for (const { id, uid } of [...members ?? [], ...joined]) shown.set(id, uid)
      }
      return [...shown.values()].sort().join()
    }
  }
}

/** @param {import('../simulation/script/scripted-cluster.js').ScriptedCluster} cluster */
const uids = async (cluster) =>
  (await listed(cluster)).members.map((/** @type {{ uid: string }} */ { uid }) => uid).sort().join()

test('members are listed again when Redis has lost its data, and pages get all of them', () => inCluster({}, async (cluster) => {
  const [here, there] = cluster.gateways
  const pages = [await member(cluster, 'ada', here), await member(cluster, 'bob', there)]
  for (const page of pages) await page.join()
  await cluster.until(() => pages.every(({ shown }) => shown === 'ada,bob'))
  const told = pages.map(({ client }) => client.got('doc:presence').length)
  await cluster.command('FLUSHALL')
  assert.equal(await uids(cluster), '')
  await cluster.until(() => pages.every(({ client }, i) =>
    client.got('doc:presence').slice(told[i]).some(({ members }) => members)), { timeout: 5000 })
  await cluster.pass(1000)
  assert.deepEqual(pages.map(({ shown }) => shown), ['ada,bob', 'ada,bob'])
  assert.equal(await uids(cluster), 'ada,bob')
}))

test('what changed while Redis was unavailable is in the list afterwards, and pages show it', () => inCluster({}, async (cluster) => {
  const [here, there] = cluster.gateways
  const [ada, bob, cyd] =
    [await member(cluster, 'ada', here), await member(cluster, 'bob', there), await member(cluster, 'cyd', there)]
  for (const page of [ada, bob]) await page.join()
  await cluster.until(() => ada.shown === 'ada,bob')
  const [server] = cluster.redis.servers
  server.restart(undefined, 5000)
  await cluster.pass(2000)
  // the document is open on both workers
  await cyd.join()
  assert.equal(cyd.shown, '')
  await bob.client.close()
  await cluster.until(() => server.isAlive)
  await cluster.until(() => [ada, cyd].every(({ shown }) => shown === 'ada,cyd'), { message: () => [ada.shown, cyd.shown] })
  // the api may connect to Redis later than the workers
  await cluster.pass(3000)
  assert.equal(await uids(cluster), 'ada,cyd')
}))

test('the members that a page shows are those of the count in each message, also while many join', () => inCluster({}, async (cluster) => {
  /** @type {string[]} */
  const wrong = []
  /** @type {{ client: Client, checker: PresenceChecker }[]} */
  const pages = []
  for (let i = 0; i < 40; i++) {
    const client = await cluster.connect(`user-${i}`)
    const checker = new PresenceChecker(client.uid, (sentence) => { wrong.push(sentence) }, () => false)
    pages.push({ client, checker })
  }
  for (const { client: { process, socket }, checker } of pages) {
    process.enter('join', () => {
      socket?.on('doc:presence', (message) => { checker.update(message) })
      socket?.emit('doc:join', { guid: 'doc', state: {} }, (/** @type {any} */ answer) => checker.list(answer))
    })
    await cluster.pass(20)
  }
  await cluster.until(() => pages.every(({ checker }) => checker.members.size === pages.length), {
    message: () => pages.map(({ checker }) => checker.members.size)
  })
  assert.deepEqual(wrong, [])
}))

/**
 * @param {import('../simulation/script/scripted-cluster.js').ScriptedCluster} cluster
 * @param {string} key
 * @returns its master
 */
const masterOf = ({ redis: { servers } }, key) => servers[Math.floor(slotOf(key) * servers.length / 16_384)]

/**
 * Ada is a member on one worker, bob on another one, of a document on another node of Redis Cluster than the list of
 * the documents of ada's worker.
 * @param {import('../simulation/script/scripted-cluster.js').ScriptedCluster} cluster
 */
async function membersOnTwoNodes (cluster) {
  const numberOf = async (/** @type {typeof cluster.gateways[0]} */ on) =>
    Number(workerOfSid(String((await cluster.connect('visitor', { on })).id)))
  const [first, second] = cluster.gateways
  // the successor of a killed worker takes the lowest number if Redis is empty then: it must be free
  const [here, there] = await numberOf(first) === 0 ? [second, first] : [first, second]
  const [ada, bob] = [
    await cluster.connect('ada', { on: there, socket: { reconnection: false } }),
    await cluster.connect('bob', { on: here })
  ]
  const number = Number(workerOfSid(String(ada.id)))
  const node = masterOf(cluster, workerPresence(number))
  const guids = Array.from({ length: 20 }, (_, i) => `doc-${i}`)
  const isOnNode = (/** @type {string} */ guid) => masterOf(cluster, documentPresence(guid)[0]) === node
  const guid = String(guids.find((one) => !isOnNode(one)))
  for (const client of [ada, bob]) assert.equal((await client.ask('doc:join', { guid, state: {} })).ok, true)
  // departures from it cannot be written while the node is down
  assert.equal((await ada.ask('doc:join', { guid: guids.find(isOnNode), state: {} })).ok, true)
  const uids = async () => (await cluster.request('GET', `/v1/documents/${guid}/presence`)).body.members
    .map((/** @type {{ uid: string }} */ { uid }) => uid).sort().join()
  await cluster.pass(5000)
  assert.equal(await uids(), 'ada,bob')
  return { there, node, uids }
}

test('one node of Redis Cluster loses the list of the documents of a worker: when that worker is killed later, its members leave', () =>
  inCluster({ redis: 'shards', env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const { there, node, uids } = await membersOnTwoNodes(cluster)
    node.process.enter('FLUSHALL', () => node.store.keyspace.clear())
    await cluster.pass(10_000)
    cluster.kill(there)
    await cluster.pass(20_000)
    assert.equal(await uids(), 'bob')
  }))

test('one node of Redis Cluster comes back empty while a worker stops: its members leave', () =>
  inCluster({ redis: 'shards', env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const { there, node, uids } = await membersOnTwoNodes(cluster)
    node.restart(undefined, 4000)
    await cluster.pass(500)
    there.running.stop()
    await cluster.pass(20_000)
    assert.equal(await uids(), 'bob')
  }))

test('one node of Redis Cluster comes back empty after a worker was killed: its members leave where others have the document open', () =>
  inCluster({ redis: 'shards', env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const { there, node, uids } = await membersOnTwoNodes(cluster)
    node.restart(undefined, 4000)
    await cluster.pass(500)
    cluster.kill(there)
    await cluster.pass(30_000)
    assert.equal(await uids(), 'bob')
  }))

test('a worker is killed while a node of Redis Cluster is down: the next one starts meanwhile, and members on other nodes leave', () =>
  inCluster({ redis: 'shards', env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const [on] = cluster.gateways
    const ada = await cluster.connect('ada', { on, socket: { reconnection: false } })
    const guids = Array.from({ length: 20 }, (_, i) => `doc-${i}`)
    for (const guid of guids) assert.equal((await ada.ask('doc:join', { guid, state: {} })).ok, true)
    const { servers } = cluster.redis
    const needed = [WORKERS.owners, everyoneChannel, workerPresence(Number(workerOfSid(String(ada.id))))]
      .map((key) => masterOf(cluster, key))
    const down = /** @type {typeof servers[0]} */ (servers.find((server) => !needed.includes(server)))
    const members = async (isThere = true) => {
      const counts = []
      for (const guid of guids.filter((one) => (masterOf(cluster, documentPresence(one)[0]) === down) === isThere))
        counts.push((await cluster.request('GET', `/v1/documents/${guid}/presence`)).body.count)
      return counts.filter((count) => count > 0).length
    }
    assert.ok(await members() > 0)
    assert.equal(await members() + await members(false), guids.length)

    const { running } = on
    down.restart(down.store.snapshot(), 4500)
    cluster.kill(on)
    await cluster.until(() => on.running !== running && on.running.isReady, { timeout: 4000 })
    assert.equal(await members(false), 0)
    assert.equal(down.isAlive, false)
    await cluster.until(() => down.isAlive)
    await cluster.pass(20_000)
    assert.equal(await members() + await members(false), 0)
  }))

test('idle members of two workers stay idle after a kill, and users who leave have a last seen', () =>
  inCluster({ env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
    const [here, there] = cluster.gateways
    const auth = { documents: { doc: { state: {}, idle: true } } }
    const watcher = await cluster.connect('watcher', { on: here })
    await watcher.ask('doc:join', { guid: 'doc', members: true })
    const left = async () => (await watcher.ask('doc:members', { guid: 'doc', left: true })).left
    assert.deepEqual(await left(), [])
    const ada = await cluster.connect('ada', { on: there, auth })
    const bob = await cluster.connect('bob', { on: there, auth, socket: { reconnection: false } })
    const idle = async () => (await listed(cluster)).members
      .filter((/** @type {any} */ member) => member.idle).map((/** @type {any} */ { uid }) => uid)
    await cluster.until(() => watcher.got('doc:presence').at(-1)?.count === 3)
    assert.deepEqual(await idle(), ['ada', 'bob'])
    await cluster.pass(1000)
    const { body: online } = await cluster.request('GET', '/v1/users/bob')
    assert.deepEqual([online.online, online.connections], [true, 1])
    const [seconds] = /** @type {any} */ (await cluster.command('TIME'))
    const killedAt = 1000 * seconds
    cluster.kill(there)
    await cluster.until(() => ada.connected && !bob.connected)
    await cluster.pass(20_000)
    assert.deepEqual(await idle(), ['ada'])
    const [gone, ...more] = await left()
    assert.deepEqual([gone.uid, more], ['bob', []])
    const { body: bobs } = await cluster.request('GET', '/v1/users/bob')
    assert.deepEqual([bobs.online, bobs.connections], [false, 0])
    // the end of the lease, 10 s, and the time until others notice it
    for (const at of [gone.lastSeen, bobs.lastSeen])
      assert.ok(at - killedAt > -1000 && at - killedAt <= 12_000, `${at - killedAt} ms`)
    await ada.close()
    await cluster.pass(3000)
    const { body: adas } = await cluster.request('GET', '/v1/users/ada')
    assert.equal(adas.online, false)
    assert.ok(adas.lastSeen > killedAt)
    assert.equal((await cluster.request('GET', '/v1/users/somebody')).body.lastSeen, null)
  }))

test('a page that watches a document without members gets nothing, also after the last one left', () => inCluster({}, async (cluster) => {
  const watcher = await cluster.connect('watcher')
  assert.equal((await watcher.ask('doc:join', { guid: 'doc', members: 'watch' })).count, 0)
  const counts = () => watcher.got('doc:presence').map(({ count }) => count)
  // Redis has no version of it, and forgets one after a minute
  await cluster.pass(120_000)
  assert.deepEqual(counts(), [])
  const member = await cluster.connect('ada')
  await member.ask('doc:join', { guid: 'doc', members: true })
  await cluster.pass(1000)
  await member.ask('doc:leave', { guid: 'doc' })
  await cluster.pass(120_000)
  assert.deepEqual(counts(), [1, 0])
}))

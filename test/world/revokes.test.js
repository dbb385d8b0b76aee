import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signToken } from '../simulation/parts/tokens.js'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** @param {ScriptedCluster} cluster @param {number} later s @returns {{ token: string }} of a user */
const tokenFrom = (cluster, later) => ({ token: signToken({ sub: 'ada', iat: Math.floor(cluster.world.wall / 1000) + later }) })

/**
 * @param {ScriptedCluster} cluster
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string>} [headers]
 */
async function order (cluster, method, path, headers) {
  const { status, body } = await cluster.request(method, path, { headers })
  assert.equal(status, 202, path)
  return [body.connections, body.workers]
}

// that no race breaks them, RightsChecker looks at in each simulated world with rights
test('revokes, bans and restores hold on every worker, also for one that starts later', () =>
  inCluster({}, async (cluster) => {
    const connect = async (/** @type {Record<string, string>} */ auth) => {
      const tabs = []
      for (const on of [...cluster.gateways, ...cluster.gateways]) tabs.push(await cluster.connect('ada', { on, auth }))
      return tabs
    }
    const join = (/** @type {any[]} */ tabs) => Promise.all(tabs.map((tab) => tab.ask('doc:join', { guid: 'doc' })))
    const refused = async (/** @type {any[]} */ tabs) => {
      for (const tab of tabs) assert.equal((await tab.ask('doc:join', { guid: 'doc' })).error.code, 'forbidden')
    }
    const accepted = async (/** @type {any[]} */ tabs) => {
      for (const tab of tabs) assert.equal((await tab.ask('doc:join', { guid: 'doc' })).ok, true)
    }
    await cluster.takesOrders()
    const tabs = await connect(tokenFrom(cluster, -5))
    await accepted(tabs)
    assert.deepEqual(await order(cluster, 'DELETE', '/v1/documents/doc/connections?code=moved'), [4, 2])
    await cluster.until(() => tabs.every((tab) => tab.got('doc:closed').length === 1))
    assert.deepEqual(tabs[0].got('doc:closed'), [{ guid: 'doc', code: 'moved' }])
    assert.deepEqual(await order(cluster, 'POST', '/v1/users/ada/documents/doc'), [4, 2])
    assert.deepEqual(
      await order(cluster, 'POST', '/v1/documents/doc/revoke', { 'x-uid': 'ada', 'x-ttl': '600' }), [4, 2])
    const more = await connect(tokenFrom(cluster, 1))
    await refused([...tabs, ...more])

    // another process knows of it
    cluster.kill(cluster.gateways[1])
    await cluster.pass(2000)
    await cluster.until(() => cluster.cluster.isReady && [...tabs, ...more].every(({ connected }) => connected))
    await refused([...tabs, ...more])
    await order(cluster, 'POST', '/v1/documents/doc/restore', { 'x-uid': 'ada' })
    await accepted([...tabs, ...more])

    assert.deepEqual(await order(cluster, 'DELETE', '/v1/users/ada/connections', { 'x-ttl': '600' }), [8, 2])
    cluster.kill(cluster.gateways[0])
    await cluster.pass(2000)
    await cluster.until(() => cluster.cluster.isReady)
    const banned = Array.from({ length: 6 }, () =>
      cluster.open('ada', { auth: tokenFrom(cluster, 5), socket: { reconnection: false } }))
    await cluster.until(() => banned.every(({ failures }) => failures.length === 1))
    assert.deepEqual([...new Set(banned.flatMap(({ failures }) => failures))], ['this user may not connect for some time'])
    await order(cluster, 'POST', '/v1/users/ada/restore')
    await join(await connect(tokenFrom(cluster, 5)))
  }))

test('orders of Kafka reach their users while connections to Redis are cut, and no record after a revoke does', () =>
  inCluster({ kafka: true }, async (cluster) => {
    const drawn = cluster.world.random.fork()
    const users = Array.from({ length: 10 }, (_, i) => `user-${i}`)
    const pages = []
    for (const [i, uid] of users.entries()) {
      const page = await cluster.connect(uid, { on: cluster.gateways[i % 2] })
      assert.equal((await page.ask('doc:join', { guid: 'doc' })).ok, true)
      pages.push(page)
    }
    let isOver = false
    const cut = () => {
      if (isOver) return
      const { network } = cluster.world
      const lines = network.lines.filter(({ owner, peer }) =>
        owner.name.includes('gateway') && peer?.owner.name === 'redis')
      for (const line of lines) if (drawn.chance(0.5)) network.cut(line, { here: 1, there: 1 })
      cluster.world.schedule(drawn.whole(30, 400), 'cut', cut, null)
    }
    cut()
    for (const [i, uid] of users.entries()) {
      /** @type {Record<string, string>} */
      const headers = i % 3 === 0
        ? { 'x-operator': 'kick', 'x-uid': uid, 'x-ttl': '600' }
        : { 'x-operator': 'revoke', 'x-uid': uid, 'x-guid': 'doc' }
      if (i % 3 < 2) await cluster.produce(headers, null)
      await cluster.produce({ 'x-operator': 'broadcast', 'x-guid': 'doc' }, `after ${uid}`)
      await cluster.pass(100)
    }
    isOver = true
    await cluster.pass(10_000)
    const all = users.map((uid) => `after ${uid}`)
    for (const [i, page] of pages.entries()) {
      // kicked, revoked, or without an order
      const got = page.got('message')
      if (i % 3 === 0) assert.deepEqual([page.ends, page.connected], [['io server disconnect'], false])
      if (i % 3 === 1) assert.equal((await page.ask('doc:join', { guid: 'doc' })).error.code, 'forbidden')
      assert.deepEqual(got, i % 3 === 2 ? all : all.slice(0, i))
    }
  }))

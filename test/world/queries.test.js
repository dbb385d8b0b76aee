import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

test('documents, connections and processes of two machines are found from each of them', () =>
  inCluster({ machines: 2, workers: 2 }, async (cluster) => {
    // requests reach the api of either machine
    const get = async (/** @type {string} */ path) => (await cluster.request('GET', path)).body
    const clients = []
    for (const on of cluster.gateways) clients.push(await cluster.connect(`user-${clients.length}`, { on }))
    const guids = Array.from({ length: 25 }, (_, i) => `sheets/${String(i).padStart(2, '0')}`)
    // the first document is open everywhere, the others on one worker each
    for (const [i, guid] of guids.entries())
      for (const client of i === 0 ? clients : [clients[i % clients.length]]) await client.ask('doc:join', { guid })
    await cluster.publish(encodeURIComponent(guids[0]), 1)
    await cluster.pass(10_000)

    const found = []
    for (let cursor; ;) {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page = await get(`/v1/documents?prefix=sheets%2F&limit=10${more}`)
      found.push(...page.documents)
      cursor = page.cursor
      if (cursor === undefined) break
    }
    assert.deepEqual(found.map(({ guid }) => guid), guids)
    assert.deepEqual([found[0].members, found[0].position.offset], [clients.length, 1])
    for (const { members, position } of found.slice(1)) assert.deepEqual([members, position.offset], [1, 0])

    const sid = String(clients[0].id)
    const { uid, session } = await get(`/v1/sockets/${sid}`)
    assert.equal(uid, 'user-0')
    assert.ok(session.documents.includes(guids[0]))
    assert.deepEqual((await get(`/v1/users/${uid}/sessions`)).sessions, [session])
    const other = sid.slice(0, -1) + (sid.endsWith('_') ? '-' : '_')
    assert.equal((await get(`/v1/sockets/${other}`)).error.code, 'not_found')

    const { workers, processes } = await get('/v1/overview')
    assert.equal(workers, 4)
    const names = (/** @type {any[]} */ all) => all.map(({ host, name }) => `${host} ${name}`).sort()
    assert.deepEqual(names(processes), [1, 2].flatMap((machine) =>
      ['api-0', 'gateway-0', 'gateway-1'].map((name) => `m${machine} ${name}`)))
    assert.ok(processes.some((/** @type {any} */ { worker }) => worker === session.worker))

    for (const client of clients) await client.close()
    await cluster.pass(20_000)
    assert.deepEqual((await get('/v1/documents?prefix=sheets%2F')).documents, [])
    const ending = cluster.cluster.slots.filter(({ name }) => name.startsWith('m2/'))
    for (const slot of ending) {
      slot.restarts = false
      slot.running.stop()
    }
    // at once, not when their reports expire
    await cluster.until(() => ending.every(({ running }) => !running.process.isAlive))
    assert.deepEqual(names((await get('/v1/overview')).processes), ['m1 api-0', 'm1 gateway-0', 'm1 gateway-1'])
  }))

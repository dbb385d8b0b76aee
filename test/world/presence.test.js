import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WORKERS } from '../../src/redis/keys.js'

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
    assert.deepEqual(await cluster.command('ZRANGE', WORKERS.unclean, 0, -1), [])
  }))

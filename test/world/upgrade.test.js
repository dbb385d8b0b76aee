import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { ADDED } from '../simulation/world/next-version.js'

const { documentLog } = createKeys()

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/**
 * Installs a version on a machine, and waits until all of its processes run it.
 * @param {ScriptedCluster} cluster
 * @param {string} machine
 * @param {boolean} isNext
 */
async function install (cluster, machine, isNext) {
  const of = cluster.cluster.machines.find(({ name }) => name === machine)
  assert.ok(of)
  cluster.cluster.install(of, isNext)
  const slots = cluster.cluster.slots.filter(({ name }) => name.startsWith(`${machine}/`))
  await cluster.until(() => slots.every(({ running }) => running.isReady && running.process.isNext === isNext))
}

for (const [launches, kafka] of [[true, false], [false, true]]) {
  const how = `${launches ? 'with launchers' : 'as by PM2'}, ${kafka ? 'with' : 'without'} Kafka`
  test(`processes of two versions serve one cluster, and each reads what the other writes (${how})`, () =>
    inCluster({ machines: 2, workers: 1, kafka, launches, env: { PRESENCE_GRACE: '1000' } }, async (cluster) => {
      const [here, there] = cluster.gateways
      await cluster.takesOrders()
      await install(cluster, 'm1', true)
      const pages = [await cluster.connect('ada', { on: here }), await cluster.connect('bob', { on: there })]
      for (const page of pages) assert.equal((await page.ask('doc:join', { guid: 'doc', state: { of: page.uid } })).ok, true)
      // presence
      const { body: { members } } = await cluster.request('GET', '/v1/documents/doc/presence')
      const shown = members.map((/** @type {any} */ { uid, state }) => `${uid} ${state.of}`).sort()
      assert.deepEqual(shown, ['ada ada', 'bob bob'])
      const counts = () => pages.map((page) => page.got('doc:presence').at(-1)?.count ?? page.uid)
      await cluster.until(() => counts()[0] === 2, { message: counts })
      // records
      for (const at of ['m1', 'm2']) {
        const { status } = await cluster.request('POST', '/v1/documents/doc/broadcast', {
          at, value: at, headers: { 'x-event': 'record' }
        })
        assert.ok(status < 300)
      }
      const records = () => pages.map((page) => page.got('record').sort())
      await cluster.until(() => records().flat().length === 4, { message: records })
      assert.deepEqual(records(), [['m1', 'm2'], ['m1', 'm2']])
      const log = await cluster.command('XRANGE', documentLog('doc'), '-', '+')
      const added = JSON.stringify(log).split(ADDED.added).length - 1
      assert.ok(added > 0 && (kafka || added === 1), `${added} of the records are of the next version`)
      // orders, from each version to a worker of the other one
      for (const [at, page] of /** @type {const} */ ([['m1', pages[1]], ['m2', pages[0]]])) {
        const { status } = await cluster.request('POST', '/v1/documents/doc/revoke', { at, headers: { 'x-uid': page.uid } })
        assert.ok(status < 300)
        assert.equal((await page.ask('doc:join', { guid: 'doc' })).error?.code, 'forbidden')
      }
      // and back
      await install(cluster, 'm1', false)
      await cluster.until(() => pages.every((page) => page.connected))
    }))
}

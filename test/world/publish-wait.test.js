import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

test('every way in is acknowledged when a replica has it, and refused in time while none does', () =>
  inCluster({ redis: 'replica', env: { PUBLISH_WAIT: 'replicas', UPLINK_GROUPS: 'service' } }, async (cluster) => {
    const page = await cluster.connect('ada')
    assert.equal((await page.ask('doc:join', { guid: 'doc' })).ok, true)
    const { replica } = /** @type {import('../simulation/parts/redis/replicated.js').ReplicatedRedis} */ (cluster.redis)
    let keys = 0
    const post = (/** @type {string} */ path, /** @type {unknown} */ value, headers = {}) =>
      cluster.request('POST', path, { value, headers })
    /** The code of an error; undefined: it was acknowledged. @type {Record<string, () => Promise<any>>} */
    const ways = {
      http: async () => (await post('/v1/documents/doc/broadcast', 1)).body.error?.code,
      batch: async () =>
        (await post('/v1/publish', { publications: [{ guid: 'doc', value: 1 }] })).body.results[0].error?.code,
      idempotent: async () =>
        (await post('/v1/documents/doc/broadcast', 1, { 'idempotency-key': `${++keys}` })).body.error?.code,
      doc_send: async () => (await page.ask('doc:send', { guid: 'doc', event: 'edit', data: 1 })).error?.code
    }
    for (const [name, way] of Object.entries(ways)) {
      let code
      for (let i = 0; i < 40 && (i === 0 || code !== undefined); i++) {
        code = await way()
        await cluster.pass(500)
      }
      assert.equal(code, undefined, `${name} is confirmed`)
      replica.process.pause(600_000)
      // one way at a time: after the first timeout a process refuses at once
      assert.equal(await way(), 'timeout', name)
      assert.equal(await way(), 'unavailable', name)
      replica.process.resume()
    }
    const logs = [...replica.store.keyspace.keys()].filter((key) => /^inkcast:\{uplink:.*:log$/.test(key))
    assert.ok(logs.length > 0, 'acknowledged messages are on the replica')
  }))

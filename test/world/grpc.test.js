import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GRPC_SETTINGS } from '../simulation/parts/cluster.js'
import { GrpcDoor } from '../simulation/parts/grpc-door.js'

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

/** A service that calls the gRPC api. @param {ScriptedCluster} cluster */
function callerIn (cluster) {
  const service = cluster.outside('service')
  const door = new GrpcDoor(service, 40_000)
  const request = (/** @type {string} */ method, /** @type {string} */ path, body = '', headers = {}) =>
    door.request(method, path, body, headers)
  return {
    /** @param {Parameters<typeof request>} args */
    call: (...args) => cluster.act(service, () => request(...args)),
    publish: (/** @type {string} */ key) => request('POST', '/v1/documents/doc/broadcast', `"${key}"`, {
      'x-event': 'record', 'idempotency-key': key
    })
  }
}

test('publications and orders over gRPC do what they do over HTTP', () =>
  inCluster({ env: GRPC_SETTINGS }, async (cluster) => {
    const { call } = callerIn(cluster)
    await cluster.takesOrders()
    const page = await cluster.connect('ada')
    assert.equal((await page.ask('doc:join', { guid: 'doc' })).ok, true)
    const value = { 'x-event': 'record', 'idempotency-key': 'one' }
    const first = await call('POST', '/v1/documents/doc/broadcast', '1', value)
    assert.equal(first.status, 200, first.text)
    assert.equal((await call('POST', '/v1/documents/doc/broadcast', '1', value)).status, 200)
    assert.equal((await cluster.publish('doc', 1, { 'idempotency-key': 'one' })).position.offset, 1)
    assert.equal((await call('POST', '/v1/documents/doc/revoke', '', { 'x-uid': 'ada' })).status, 200)
    assert.equal((await page.ask('doc:join', { guid: 'doc' })).error?.code, 'forbidden')
    assert.equal((await call('POST', '/v1/documents/doc/revoke')).status, 400)
  }))

test('a call of gRPC has its answer when the api is stopped, and none when it is killed', () =>
  inCluster({ env: GRPC_SETTINGS }, async (cluster) => {
    const { publish } = callerIn(cluster)
    const service = cluster.outside('service')
    const api = cluster.cluster.slots.find(({ name }) => name.includes('api'))
    assert.ok(api)
    const begin = (/** @type {string} */ key) => {
      /** @type {{ status?: number }} */
      const answer = {}
      service.enter('publish', () => publish(key).then(({ status }) => { answer.status = status }))
      return answer
    }
    const connected = begin('first')
    await cluster.until(() => connected.status === 200)
    cluster.redis.servers[0].process.pause(2000)
    const open = begin('second')
    // it is in the api, which waits for Redis
    await cluster.pass(500)
    api.running.stop()
    await cluster.until(() => open.status !== undefined)
    assert.equal(open.status, 200)
    await cluster.until(() => cluster.cluster.isReady)
    cluster.redis.servers[0].process.pause(2000)
    const lost = begin('third')
    await cluster.pass(500)
    cluster.kill(api)
    await cluster.until(() => lost.status !== undefined)
    assert.equal(lost.status, 0)
  }))

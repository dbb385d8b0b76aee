import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'

const TIMEOUT = 5000
const SHAPE = { kafka: true, env: { RECEIPT_TIMEOUT: String(TIMEOUT), PRESENCE_GRACE: '1000' } }

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */
/** @typedef {import('../simulation/script/scripted-client.js').ScriptedClient} Client */

/** @param {ScriptedCluster} cluster @param {string} prefix of the trace ids */
const summaries = (cluster, prefix) => cluster.uplink
  .filter(({ headers }) => headers['x-operator'] === 'receipt' && headers['x-trace-id'].startsWith(prefix))
  .map(({ headers, value }) => ({ headers, summary: value }))

/**
 * Members of a document, in turn on each worker, that acknowledge a record or not.
 * @param {ScriptedCluster} cluster
 * @param {number} count
 * @param {(i: number, payload: any) => boolean} [acknowledges]
 * @param {(i: number) => boolean} [polls] requests of a client that polls come through any worker
 */
async function members (cluster, count, acknowledges = () => false, polls = () => false) {
  const clients = []
  for (let i = 0; i < count; i++) {
    const client = await cluster.connect(`user-${i}`, {
      ...polls(i) ? { transports: ['polling'] } : { on: cluster.gateways[i % cluster.gateways.length] },
      acknowledges: (payload) => acknowledges(i, payload),
      socket: { reconnection: false, ...i % 2 ? {} : { parser: msgpackParser } }
    })
    assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
    clients.push(client)
  }
  return clients
}

test('each record has one summary, and the totals match the clients\' acknowledgements', () =>
  inCluster(SHAPE, async (cluster) => {
    const RECORDS = 35
    let answered = 0
    const clients = await members(cluster, 10, (i, { n }) => {
      const answers = (n + i) % 7 !== 0
      if (answers) answered++
      return answers
    }, (i) => i % 5 === 1)
    for (let n = 0; n < RECORDS; n++)
      await cluster.produce({
        'x-operator': 'broadcast', 'x-guid': 'doc', 'x-receipt': 'true', 'x-trace-id': `all-${n}`
      }, { n })
    await cluster.until(() => summaries(cluster, 'all-').length >= RECORDS)
    await cluster.pass(2 * TIMEOUT)
    const told = summaries(cluster, 'all-')
    assert.equal(told.length, RECORDS)
    assert.equal(new Set(told.map(({ headers }) => headers['x-trace-id'])).size, RECORDS)
    for (const { headers, summary } of told) {
      const n = Number(headers['x-trace-id'].slice('all-'.length))
      const silent = clients.filter((_, i) => (n + i) % 7 === 0).map(({ id }) => id).sort()
      assert.deepEqual(
        [headers['x-guid'], headers['x-event'], headers['content-type']], ['doc', 'message', 'application/json'])
      assert.equal('x-uid' in headers, false)
      assert.deepEqual(
        [summary.delivered, summary.acknowledged, summary.more, summary.unasked],
        [clients.length, clients.length - silent.length, 0, 0])
      assert.deepEqual(summary.missing.map((/** @type {{ sid: string }} */ { sid }) => sid).sort(), silent)
      assert.ok(summary.p50 <= summary.p99 && summary.p99 <= TIMEOUT * 1.05)
    }
    assert.equal(told.reduce((sum, { summary }) => sum + summary.acknowledged, 0), answered)
  }))

test('after a worker is killed there is one summary that counts its members', () =>
  inCluster(SHAPE, async (cluster) => {
    const clients = await members(cluster, 6)
    await cluster.publish('doc', 1, { 'x-receipt': 'true', 'x-trace-id': 'killed' })
    await cluster.until(() => clients.every((client) => client.got('record').length === 1))
    cluster.kill(cluster.gateways[0])
    await cluster.pass(6 * TIMEOUT)
    const told = summaries(cluster, 'killed')
    assert.equal(told.length, 1)
    const [{ summary }] = told
    assert.equal(clients.filter(({ connected }) => !connected).length, 3)
    assert.deepEqual([summary.delivered, summary.acknowledged, summary.missing.length, summary.more], [6, 0, 3, 3])
  }))

test('if all connections of a record were on a worker that was killed, its receipt comes nevertheless', () =>
  inCluster(SHAPE, async (cluster) => {
    const [client] = await members(cluster, 1)
    const ask = { 'x-receipt': 'true', 'x-event': 'record' }
    for (const [path, trace] of [
      ['documents/doc/broadcast', 'document'], ['users/user-0/send', 'user'], [`sockets/${client.id}/send`, 'socket']
    ]) await cluster.request('POST', `/v1/${path}`, { value: 1, headers: { ...ask, 'x-trace-id': `gone-${trace}` } })
    await cluster.until(() => client.got('record').length === 3)
    cluster.kill(/** @type {import('../simulation/parts/cluster.js').Slot} */ (cluster.slotOf(client)))
    await cluster.pass(6 * TIMEOUT)
    const told = summaries(cluster, 'gone-')
    assert.deepEqual(
      told.map(({ headers }) => headers['x-trace-id']).sort(), ['gone-document', 'gone-socket', 'gone-user'])
    for (const { summary } of told)
      assert.deepEqual([summary.delivered, summary.acknowledged, summary.more], [1, 0, 1])
  }))

import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import { encodeMsgpack } from '../../src/wire/msgpack.js'

const RECORDS = 100
const DOCUMENTS = 5
const KINDS = [['websocket'], ['polling', 'websocket'], ['polling']].flatMap((transports) =>
  [{}, { parser: msgpackParser }].map((socket) => ({ transports, socket })))

/** @param {number} i @returns {{ payload: any, isMsgpack: boolean }} */
function samplePayload (i) {
  if (i % 10 === 3)
    return {
      payload: { i, bytes: Buffer.alloc(64, i), nested: [{ more: Buffer.from([0, 255, 128]) }] }, isMsgpack: true
    }
  if (i % 10 === 7)
    return { payload: [i, 'Grüße, 世界 🌍 \u2028 "quoted" \\ / \u0000', null, true, 1.5e300], isMsgpack: false }
  if (i % 100 === 50) return { payload: { i, large: 'ä'.repeat(499_900) }, isMsgpack: false }
  return { payload: { i, text: `record ${i}` }, isMsgpack: i % 2 === 0 }
}

/** Binary arrives as Buffer or Uint8Array, depending on the codec. @param {any} value @returns {any} */
function plain (value) {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('hex') }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
  return value
}

test('clients of all kinds on two workers get exactly the records of their documents, in order', () =>
  inCluster({ kafka: true }, async (cluster) => {
    const guids = Array.from({ length: DOCUMENTS }, (_, i) => `doc-${i}`)
    /** @type {{ client: import('../simulation/script/scripted-client.js').ScriptedClient, mine: Set<string> }[]} */
    const clients = []
    for (let i = 0; i < 2 * KINDS.length; i++) {
      const client = await cluster.connect(`user-${i}`, KINDS[i % KINDS.length])
      const mine = new Set([guids[i % DOCUMENTS], guids[(i * 3 + 1) % DOCUMENTS]])
      for (const guid of mine) assert.equal((await client.ask('doc:join', { guid })).ok, true)
      clients.push({ client, mine })
    }
    assert.equal(new Set(clients.map(({ client }) => client.id?.slice(0, 2))).size, 2, 'both workers have clients')

    /** @type {Map<string, any[]>} */
    const produced = new Map(guids.map((guid) => [guid, []]))
    for (let i = 0; i < RECORDS; i++) {
      const guid = guids[(i * 3) % DOCUMENTS]
      const { payload, isMsgpack } = samplePayload(i)
      produced.get(guid)?.push(plain(payload))
      await cluster.produce({
        'x-operator': 'broadcast', 'x-guid': guid,
        'content-type': isMsgpack ? 'application/msgpack' : 'application/json'
      }, payload, isMsgpack ? encodeMsgpack : JSON.stringify)
    }
    const records = (/** @type {typeof clients[0]} */ { client }) =>
      client.received.filter(({ event }) => event === 'message').map(({ args: [payload, meta] }) => ({ payload, meta }))
    const expected = (/** @type {Set<string>} */ mine) =>
      [...mine].reduce((sum, guid) => sum + (produced.get(guid)?.length ?? 0), 0)
    await cluster.until(() => clients.every((one) => records(one).length >= expected(one.mine)), {
      message: () => clients.map((one) => `${records(one).length} of ${expected(one.mine)}`)
    })
    await cluster.pass(1000)
    for (const one of clients) {
      assert.equal(records(one).length, expected(one.mine))
      for (const guid of one.mine) {
        const own = records(one).filter(({ meta }) => meta.guid === guid)
        assert.deepEqual(own.map(({ meta }) => meta.offset), own.map((_, i) => i + 1))
        assert.deepEqual(own.map(({ payload }) => plain(payload)), produced.get(guid))
      }
    }
  }))

test('a signal reaches the members on the other worker and not its sender', () => inCluster({}, async (cluster) => {
  const clients = []
  for (const on of cluster.gateways) {
    const client = await cluster.connect('ada', { on })
    await client.ask('doc:join', { guid: 'doc' })
    clients.push(client)
  }
  const [sender, other] = clients
  await sender.ask('doc:signal', { guid: 'doc', event: 'cursor', data: { x: 1 } })
  const { args: [, meta] } = await cluster.until(() => other.received.find(({ event }) => event === 'cursor'))
  assert.deepEqual([meta.from, meta.offset], [sender.id, undefined])
  await cluster.pass(1000)
  assert.deepEqual(sender.got('cursor'), [])
}))

test('a cluster without Kafka counts records of the api, of clients and of signals', () => inCluster({}, async (cluster) => {
  const client = await cluster.connect('ada')
  await client.ask('doc:join', { guid: 'doc' })
  await cluster.publish('doc', { n: 1 })
  assert.equal((await client.ask('doc:send', { guid: 'doc', event: 'message', data: 1 })).ok, true)
  assert.equal((await client.ask('doc:signal', { guid: 'doc', event: 'cursor', data: 1 })).ok, true)
  /** @param {string} role */
  const counted = async (role) => {
    const all = await Promise.all(cluster.cluster.running(role).map(({ metrics }) => metrics.records.get()))
    return all.flatMap(({ values }) => values).reduce((sum, { value }) => sum + value, 0)
  }
  assert.deepEqual([await counted('api'), await counted('gateway')], [1, 2])
}))

test('pages of a quiet document load it again when Redis has lost its data', () => inCluster({}, async (cluster) => {
  const page = await cluster.connect('ada')
  await page.ask('doc:join', { guid: 'quiet' })
  await cluster.publish('quiet', {})
  await cluster.until(() => page.got('record').length === 1)
  await cluster.command('FLUSHALL')
  await cluster.until(() => page.got('doc:resync').length > 0, { timeout: 15_000 })
  await cluster.pass(5000)
  assert.deepEqual(page.got('doc:resync').map(({ guid, reason }) => `${guid} ${reason}`), ['quiet epoch'])
}))

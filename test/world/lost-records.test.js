import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { rollBackLog } from '../contract/bus-redis-pair.js'
import { follow } from '../simulation/script/follower.js'
import { startPart } from '../simulation/script/part.js'

const { documentLog, documentMeta } = createKeys()

/** @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster */

test('a last record that pub/sub lost is delivered within seconds', () => inCluster({}, async (cluster) => {
  const guids = Array.from({ length: 40 }, (_, i) => `d${i}`)
  const { values, resyncs } = await follow(cluster, 'ada', guids)
  const send = { 'x-event': 'message' }
  for (const guid of guids) await cluster.publish(guid, 'live', send)
  await cluster.until(() => guids.every((guid) => values.get(guid)?.length === 1))
  const silent = guids.filter((_, i) => i % 10 === 0)
  const { act, redis: { client } } = await startPart(cluster, 'operator')
  await act(async () => {
    // append without publishing
    for (const guid of silent) {
      const [[, fields]] = await client.xrangeBuffer(documentLog(guid), '-', '+')
      await Promise.all([client.xadd(documentLog(guid), '2-0', ...fields), client.hincrby(documentMeta(guid), 'o', 1)])
    }
  })
  await cluster.until(() => silent.every((guid) => values.get(guid)?.length === 2), { timeout: 10_000 })
  for (const guid of guids) assert.equal(values.get(guid)?.length, silent.includes(guid) ? 2 : 1)
  assert.deepEqual(resyncs, [])
  const counts = await Promise.all(cluster.gateways.map(({ running }) => running.metrics.silent_losses.get()))
  assert.equal(counts.flatMap(({ values }) => values).reduce((sum, { value }) => sum + value, 0), silent.length)
}))

/**
 * A page of a document with ten records, of which Redis then loses five.
 * @param {ScriptedCluster} cluster
 */
async function rolledBack (cluster) {
  for (let i = 1; i <= 10; i++) await cluster.publish('doc', i)
  const page = await cluster.connect('ada')
  const { position } = await page.ask('doc:join', { guid: 'doc' })
  assert.equal(position.offset, 10)
  const { act, redis } = await startPart(cluster, 'operator')
  await act(() => rollBackLog(redis.client, 'doc', 5))
  return { page, epoch: position.epoch }
}

test('new records at offsets that Redis lost cause a resync, and later ones are delivered', () =>
  inCluster({}, async (cluster) => {
    const { page, epoch } = await rolledBack(cluster)
    await cluster.publish('doc', 'another sixth')
    await cluster.until(() => page.got('doc:resync').length > 0)
    const [{ position, reason }] = page.got('doc:resync')
    assert.equal(reason, 'epoch')
    assert.notEqual(position.epoch, epoch)
    await cluster.publish('doc', 'after it')
    await cluster.until(() => page.got('record').length > 0)
    await cluster.pass(5000)
    const records = page.received.filter(({ event }) => event === 'record').map(({ args: [value, { offset }] }) => [value, offset])
    assert.deepEqual(records, [['after it', position.offset + 1]])
    assert.equal(page.got('doc:resync').length, 1)
  }))

test('a loss in Redis is detected without new records too', () => inCluster({}, async (cluster) => {
  const { page, epoch } = await rolledBack(cluster)
  await cluster.until(() => page.got('doc:resync').length > 0, { timeout: 15_000 })
  assert.notEqual(page.got('doc:resync')[0].position.epoch, epoch)
}))

test('a client that resumes at the lost end of a log gets a resync, in a few calls', () => inCluster({}, async (cluster) => {
  const { page, epoch } = await rolledBack(cluster)
  const { store } = cluster.redis.servers[0]
  const { execute } = store
  let calls = 0
  store.execute = (args, connection) => {
    calls++
    return execute.call(store, args, connection)
  }
  const back = await cluster.connect('bob', { on: cluster.slotOf(page) })
  calls = 0
  const answer = await back.ask('doc:join', { guid: 'doc', position: { epoch, offset: 5 } })
  assert.deepEqual([answer.ok, answer.recovered], [true, false])
  await cluster.until(() => [page, back].every((one) => one.got('doc:resync').length > 0), { timeout: 1000 })
  assert.ok(calls < 20, `${calls} calls`)
}))

import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { DOWNLINK } from '../simulation/parts/kafka-service.js'
import { follow } from '../simulation/script/follower.js'

const { sourceMark } = createKeys()

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/follower.js').Follower} Follower
 */

const DEAD_LETTERS = 'documents.dead-letter'
const GUIDS = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6']
const GROUP = 'inkcast'

/** @param {ScriptedCluster} cluster @param {number} count @param {number} from numbers, one document after the other */
async function produce (cluster, count, from) {
  for (let i = from; i < from + count; i++) {
    const guid = GUIDS[i % GUIDS.length]
    await cluster.produce({ 'x-operator': 'broadcast', 'x-guid': guid }, i)
  }
}

/** @param {Follower} follower @param {number} count of numbers, from 0 on */
const hasAll = ({ values }, count) => [...values.values()].reduce((sum, { length }) => sum + length, 0) >= count

/** @param {Follower} follower @param {number} count */
function assertAllInOrder ({ values, resyncs }, count) {
  for (const [d, guid] of GUIDS.entries()) {
    const length = Math.ceil((count - d) / GUIDS.length)
    assert.deepEqual(values.get(guid), Array.from({ length }, (_, i) => i * GUIDS.length + d), guid)
  }
  assert.deepEqual(resyncs, [])
}

/**
 * The partition with the records of a document.
 * @param {ScriptedCluster} cluster
 * @param {string} guid
 */
function partitionOf ({ broker }, guid) {
  const has = (/** @type {{ key: Buffer | null }} */ { key }) => String(key) === guid
  const found = broker?.topic(DOWNLINK).partitions.find(({ records }) => records.some(has))
  assert.ok(found)
  return found
}

/** @param {ScriptedCluster} cluster @returns {number} records whose offsets the group has committed */
function committed ({ broker }) {
  const offsets = broker?.group(GROUP).committed.get(DOWNLINK)?.values() ?? []
  return [...offsets].reduce((sum, { offset }) => sum + Number(offset), 0)
}

/** @param {ScriptedCluster} cluster */
const written = (cluster) =>
  cluster.broker?.topic(DOWNLINK).partitions.reduce((sum, { end }) => sum + end, 0) ?? 0

/** @param {ScriptedCluster} cluster */
const ingests = (cluster) => cluster.cluster.slots.filter(({ name }) => name.includes('ingest'))

test('while Redis does not answer nothing is lost, reordered or published twice, no offset is committed, and the group is kept',
  () => inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    await produce(cluster, 14, 0)
    await cluster.until(() => hasAll(follower, 14))
    await cluster.pass(3000)
    const before = { committed: committed(cluster), generation: cluster.broker?.group(GROUP).generation }
    // longer than the group's session timeout
    cluster.redis.servers[0].process.pause(12_500)
    await produce(cluster, 86, 14)
    await cluster.pass(8000)
    assert.equal(committed(cluster), before.committed, 'nothing has an effect yet')
    await cluster.until(() => hasAll(follower, 100))
    await cluster.until(() => committed(cluster) === written(cluster))
    assert.equal(cluster.broker?.group(GROUP).generation, before.generation, 'it stayed in the group')
    assertAllInOrder(follower, 100)
  }))

test('an offset is committed about a second after the effect', () => inCluster({ kafka: true, workers: 1 }, async (cluster) => {
  const follower = await follow(cluster, 'ada', GUIDS)
  await cluster.pass(3000)
  const { time } = cluster
  await produce(cluster, 10, 0)
  await cluster.until(() => hasAll(follower, 10))
  await cluster.until(() => committed(cluster) === written(cluster), { timeout: 5000 - (cluster.time - time) })
}))

test('after an ingest is killed between effect and commit, repeated records are recognized', () =>
  inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    const [ingest] = ingests(cluster)
    await cluster.pass(3000)
    let sent = 0
    for (let round = 0; round < 3; round++) {
      await produce(cluster, 20, sent)
      sent += 20
      await cluster.until(() => hasAll(follower, sent))
      assert.ok(committed(cluster) < written(cluster), 'the commit is due later')
      cluster.kill(ingest)
      await cluster.until(() => ingest.running.isReady && ingest.running.process.isAlive)
    }
    await produce(cluster, 20, sent)
    await cluster.until(() => hasAll(follower, sent + 20))
    await cluster.until(() => committed(cluster) === written(cluster))
    assertAllInOrder(follower, sent + 20)
  }))

test('an ingest stops while Redis does not answer, and does not commit unpublished records', () =>
  inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    const [ingest] = ingests(cluster)
    await cluster.pass(3000)
    const before = committed(cluster)
    cluster.redis.servers[0].process.pause(20_000)
    await produce(cluster, 50, 0)
    const { process } = ingest.running
    ingest.running.stop()
    await cluster.until(() => !process.isAlive)
    assert.equal(committed(cluster), before)
    await cluster.until(() => hasAll(follower, 50))
    assertAllInOrder(follower, 50)
  }))

test('a second ingest takes over partitions: no record is lost, reordered or duplicated', () =>
  inCluster({ kafka: true, machines: 2, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    const [first, second] = ingests(cluster)
    const members = () => cluster.broker?.group(GROUP).members.size
    await cluster.until(() => members() === 2)
    first.restarts = false
    const { process } = first.running
    await produce(cluster, 60, 0)
    first.running.stop()
    await produce(cluster, 60, 60)
    await cluster.until(() => !process.isAlive && members() === 1)
    await produce(cluster, 20, 120)
    first.running = first.start()
    await cluster.until(() => members() === 2)
    cluster.kill(second)
    await produce(cluster, 60, 140)
    await cluster.until(() => hasAll(follower, 200))
    assertAllInOrder(follower, 200)
  }))

test('records flow again after Kafka is unavailable, killed, and stops answering: none is lost, and none comes twice', () =>
  inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    let sent = 0
    for (const fault of [
      () => cluster.broker?.away(3000, { isSilent: false }),
      () => cluster.broker?.process.end(null),
      () => cluster.broker?.process.pause(12_000),
      () => cluster.broker?.away(12_000, { isSilent: true })
    ]) {
      await produce(cluster, 14, sent)
      fault()
      // the api answers when Kafka has the record
      for (let i = sent + 14; i < sent + 21; i++) {
        const key = `key-${i}`
        for (let tries = 0; ; tries++) {
          const { status } = await cluster.request('POST', `/v1/documents/${GUIDS[i % 7]}/broadcast`, {
            value: i, headers: { 'idempotency-key': key }
          })
          if (status === 202) break
          assert.ok(tries < 100 && (status === 503 || status === 409 || status === 504), `${status}`)
          await cluster.pass(500)
        }
      }
      sent += 21
      await cluster.until(() => hasAll(follower, sent))
    }
    await cluster.pass(5000)
    assertAllInOrder(follower, sent)
  }))

test('the offset of a record that cannot be delivered is committed only after its dead letter is written', () =>
  inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const follower = await follow(cluster, 'ada', ['d'])
    const broker = /** @type {import('../simulation/parts/broker.js').Broker} */ (cluster.broker)
    const [ingest] = ingests(cluster)
    const headers = { 'x-operator': 'broadcast', 'x-guid': 'd' }
    await cluster.pass(3000)
    // the next process creates it
    broker.delete(DEAD_LETTERS)
    for (const text of ['1', '{', '2']) await cluster.produce(headers, text, String)
    await cluster.pass(10_000)
    const { number, records } = partitionOf(cluster, 'd')
    const offset = Number(records.find(({ value }) => String(value) === '{')?.offset)
    assert.equal(broker.group(GROUP).committed.get(DOWNLINK)?.get(number)?.offset, offset)

    ingest.running.stop()
    const letters = () => broker.topics.get(DEAD_LETTERS)?.partitions.flatMap(({ records }) => records) ?? []
    await cluster.until(() => letters().length > 0)
    await cluster.until(() => follower.values.get('d')?.length === 2)
    await cluster.until(() => committed(cluster) === written(cluster))
    assert.deepEqual(letters().map(({ headers }) => [String(headers?.['x-reason']), String(headers?.['x-offset'])]),
      [['bad_value', String(offset)]])
    assert.deepEqual(follower.values.get('d'), [1, 2])
  }))

/** @param {ScriptedCluster} cluster @param {() => Promise<unknown>} meanwhile */
async function withoutIngest (cluster, meanwhile) {
  const [ingest] = ingests(cluster)
  const { process } = ingest.running
  ingest.restarts = false
  ingest.running.stop()
  await cluster.until(() => !process.isAlive)
  await meanwhile()
  ingest.restarts = true
  ingest.running = ingest.start()
  await cluster.until(() => ingest.running.isReady)
}

test('after a reset of the group\'s offsets records without a log are not repeated; without a mark of their partition old ones are skipped',
  () => inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const { page, values } = await follow(cluster, 'ada', ['d'])
    const send = (/** @type {Record<string, string>} */ headers, /** @type {unknown} */ value) =>
      cluster.produce({ 'x-guid': 'd', ...headers }, value)
    const edit = (/** @type {number} */ value) => send({ 'x-operator': 'broadcast' }, value)
    const cursor = (/** @type {string} */ value) =>
      send({ 'x-operator': 'broadcast', 'x-ephemeral': 'true', 'x-event': 'cursor' }, value)
    const everyone = (/** @type {string} */ value) => cluster.produce({ 'x-operator': 'everyone', 'x-event': 'news' }, value)
    const order = () => cluster.produce({ 'x-operator': 'kick', 'x-uid': 'bob' }, null)
    const got = () => [page.got('news'), page.got('cursor'), values.get('d')]
    const results = async () => Object.fromEntries((await ingests(cluster)[0].running.metrics.records.get()).values
      .filter(({ value }) => value > 0).map(({ labels, value }) => [`${labels.operator} ${labels.result}`, value]))

    await order()
    await everyone('a')
    await cursor('b')
    await edit(1)
    await cluster.until(() => got().flat().length === 3)
    await cluster.pass(3000)
    await withoutIngest(cluster, async () => cluster.broker?.group(GROUP).committed.delete(DOWNLINK))
    await edit(2)
    await everyone('c')
    await cluster.until(() => got().flat().length === 5)
    await cluster.pass(1000)
    assert.deepEqual(got(), [['a', 'c'], ['b'], [1, 2]])
    assert.deepEqual(await results(), {
      'kick passed_over': 1, 'everyone passed_over': 1, 'broadcast passed_over': 1, 'broadcast duplicate': 1,
      'broadcast ok': 1, 'everyone ok': 1
    })

    await withoutIngest(cluster, async () => {
      await order()
      await everyone('d')
      await edit(3)
      // older than 5 minutes
      await cluster.pass(301_000)
      await cluster.command('DEL', ...await cluster.command('KEYS', sourceMark('*')))
    })
    await edit(4)
    await cluster.until(() => values.get('d')?.length === 4)
    await cluster.pass(1000)
    assert.deepEqual(got(), [['a', 'c'], ['b'], [1, 2, 3, 4]])
    assert.deepEqual(await results(), { 'kick passed_over': 1, 'everyone passed_over': 1, 'broadcast ok': 2 })
  }))

test('a partition that lost its end: new records are delivered, none is carried out twice, and a metric counts the loss',
  () => inCluster({ kafka: true, workers: 1 }, async (cluster) => {
    const { page, values, resyncs } = await follow(cluster, 'ada', ['d'])
    let sent = 0
    const edits = async (/** @type {number} */ count) => {
      for (let i = 0; i < count; i++) await cluster.produce({ 'x-operator': 'broadcast', 'x-guid': 'd' }, sent++)
    }
    const lost = async () => {
      const { values } = await ingests(cluster)[0].running.metrics.kafka_lost_ends.get()
      return values.find(({ labels }) => labels.partition === partitionOf(cluster, 'd').number)?.value
    }
    const shown = () => cluster.until(() => values.get('d')?.length === sent)
    const loseEnd = () => {
      const { number, records } = partitionOf(cluster, 'd')
      // ten edits, and what was before them, are left
      const index = records.findIndex(({ value }) => String(value) === String(sent - 10))
      cluster.broker?.loseEnd(DOWNLINK, number, records.length - index)
    }
    await cluster.produce({ 'x-operator': 'broadcast', 'x-guid': 'd', 'x-ephemeral': 'true', 'x-event': 'cursor' }, 'a')
    await edits(20)
    await shown()
    assert.equal(await lost(), 0, 'an alert sees the first one')
    loseEnd()
    await edits(6)
    await shown()
    assert.equal(await lost(), 1)

    await cluster.pass(3000)
    await withoutIngest(cluster, async () => {
      loseEnd()
      // the new end passes the old one before anyone reads
      await edits(20)
    })
    await shown()
    assert.equal(await lost(), 1)
    assert.deepEqual(values.get('d'), Array.from({ length: sent }, (_, i) => i))
    assert.deepEqual([page.got('cursor'), resyncs], [['a'], []])
  }))

test('a consumer without records whose health checks are green is reported and replaced once: no record is lost or repeated',
  () => inCluster({
    kafka: true, workers: 1, errors: ['the consumer delivers none', 'the Kafka consumer failed and is replaced']
  }, async (cluster) => {
    const follower = await follow(cluster, 'ada', GUIDS)
    const [{ running }] = ingests(cluster)
    const { fetches, process } = /** @type {import('../simulation/parts/broker.js').Broker} */ (cluster.broker)
    const member = () => [...cluster.broker?.group(GROUP).members.keys() ?? []].join()
    const restarts = async () => (await running.metrics.kafka_consumer_restarts.get()).values[0]?.value ?? 0
    await produce(cluster, 14, 0)
    await cluster.until(() => hasAll(follower, 14))
    await cluster.pass(10_000)
    const before = member()

    const fetch = fetches.fetch
    fetches.fetch = (_topic, _wanted, maxWait, reply) => {
      cluster.world.schedule(maxWait, 'empty fetch', () => reply(undefined, []), process)
    }
    const { time } = cluster
    await produce(cluster, 14, 14)
    await cluster.until(() => running.notReady().some((reason) => /no record comes through partition \d/.test(reason)))
    assert.ok(cluster.time - time > 14_000 && cluster.time - time < 25_000, `after ${cluster.time - time} ms`)
    assert.equal(member(), before)
    await cluster.until(() => member() !== before, { timeout: 10_000 })
    fetches.fetch = fetch
    await cluster.until(() => hasAll(follower, 28))
    await cluster.until(() => running.notReady().length === 0)
    const next = member()
    // longer than the pause between replacements
    await cluster.pass(120_000)
    assert.deepEqual([member(), await restarts(), running.notReady()], [next, 1, []])
    for (const { value } of (await running.metrics.canary_age_seconds.get()).values) assert.ok(value < 10, `${value} s`)
    assertAllInOrder(follower, 28)
    assert.deepEqual(cluster.records(DEAD_LETTERS), [])
  }))

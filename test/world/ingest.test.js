import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOWNLINK } from '../simulation/parts/kafka-service.js'
import { follow } from '../simulation/script/follower.js'

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/follower.js').Follower} Follower
 */

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

import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createKeys } from '../../src/redis/keys.js'
import { publication } from '../contract/bus-fixture.js'
import { follow } from '../simulation/script/follower.js'
import { startPart } from '../simulation/script/part.js'

const { sourceMark } = createKeys()

/**
 * Records from Kafka that Redis lost are restored at their offsets, without a resync.
 *
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/script/follower.js').Follower} Follower
 */

const GUIDS = ['d0', 'd1', 'd2', 'd3']

/** @param {number} count @param {number} [from] */
const range = (count, from = 1) => Array.from({ length: count }, (_, i) => from + i)

/** Documents with ten records each, a page, and what a test does to them. */
class Scene {
  sent = 0

  /** @param {ScriptedCluster} cluster @param {Follower} follower */
  constructor (cluster, follower) {
    this.cluster = cluster
    this.follower = follower
  }

  /** @param {ScriptedCluster} cluster */
  static async begin (cluster) {
    const scene = new Scene(cluster, await follow(cluster, 'ada', GUIDS))
    await scene.produce(10)
    await scene.shown(10)
    // the marks of the partitions are behind the first records
    await cluster.pass(15_000)
    return scene
  }

  /** The next numbers to each document. @param {number} count */
  async produce (count) {
    for (const number of range(count, this.sent + 1))
      for (const guid of GUIDS) await this.cluster.produce({ 'x-operator': 'broadcast', 'x-guid': guid }, number)
    this.sent += count
  }

  /** @param {string} guid @returns {unknown[]} */
  values (guid) { return this.follower.values.get(guid) ?? [] }

  /** @param {number} number @param {string[]} [guids] */
  async shown (number, guids = GUIDS) {
    await this.cluster.until(() => guids.every((guid) => this.values(guid).at(-1) === number), {
      message: () => guids.map((guid) => this.values(guid).at(-1))
    })
  }

  /**
   * Redis loses what was shown last.
   * @param {number} count of records
   * @param {() => Promise<unknown>} down runs while Redis is down
   * @param {() => Promise<unknown>} [alsoLost]
   */
  async lose (count, down, alsoLost = async () => {}) {
    const { redis: { servers: [server] } } = this.cluster
    const saved = server.store.snapshot()
    await this.produce(count)
    await this.shown(this.sent)
    await alsoLost()
    server.restart(saved, 3000)
    await down()
    await this.cluster.until(() => server.isAlive)
  }

  /** @returns {Promise<string[]>} */
  marks () { return this.cluster.command('KEYS', sourceMark('*')) }
}

/** @param {(scene: Scene) => Promise<void>} play */
const inScene = (play) => () =>
  inCluster({ kafka: true, workers: 1 }, async (cluster) => play(await Scene.begin(cluster)))

/** @param {ScriptedCluster} cluster @param {string} guid @returns {Promise<any>} a page of history */
const historyOf = async (cluster, guid) => (await cluster.request('GET', `/v1/documents/${guid}/history?limit=100`)).body

test('records that Redis lost return at their offsets before new ones, without a resync', inScene(async (scene) => {
  const { cluster, follower } = scene
  await scene.lose(20, () => scene.produce(10))
  await scene.produce(5)
  await scene.shown(45)
  for (const guid of GUIDS) {
    assert.deepEqual(scene.values(guid), range(45))
    const { records } = await historyOf(cluster, guid)
    assert.deepEqual(records.map((/** @type {any} */ { value }) => value), range(45), 'the same records as before')
    assert.deepEqual(records.map((/** @type {any} */ { offset }) => offset), range(45), 'at the same offsets')
  }
  assert.deepEqual(follower.resyncs, [])
}))

test('in quiet documents lost records return with the next record, and again if Redis loses them twice', inScene(async (scene) => {
  const { cluster, follower } = scene
  const [server] = cluster.redis.servers
  const saved = server.store.snapshot()
  await scene.lose(20, () => scene.produce(1))
  await scene.shown(31)
  server.restart(saved, 1000)
  await cluster.until(() => server.isAlive)
  await scene.produce(1)
  await scene.shown(32)
  for (const guid of GUIDS) assert.deepEqual(scene.values(guid), range(32))
  assert.deepEqual(follower.resyncs, [])
}))

test('without the mark of a partition, its documents start over, and the next loss is healed', inScene(async (scene) => {
  const { cluster, follower } = scene
  await cluster.command('DEL', ...await scene.marks())
  await scene.lose(20, () => scene.produce(5))
  await cluster.until(() => GUIDS.every((guid) => follower.resyncs.some((resync) => resync.guid === guid)))
  await scene.produce(5)
  await scene.shown(40)
  await cluster.pass(15_000)
  const resyncs = follower.resyncs.length
  await scene.lose(20, () => scene.produce(10))
  await scene.produce(5)
  await scene.shown(75)
  assert.equal(follower.resyncs.length, resyncs, 'no further resync')
  for (const guid of GUIDS)
    assert.deepEqual(scene.values(guid).filter((number) => Number(number) > 40), range(35, 41), 'once and in order')
  const { records } = await historyOf(cluster, GUIDS[0])
  const lost = records.filter((/** @type {any} */ record) => record.lost)
  assert.deepEqual(lost.map((/** @type {any} */ { value }) => value), [31], 'history shows where records may be missing')
}))

test('documents with a record that did not come from Kafka start over, the others are healed', inScene(async (scene) => {
  const { cluster, follower } = scene
  const [mixed, ...others] = GUIDS
  const { act, redis, log, clock, random } = await startPart(cluster, 'without Kafka')
  const bus = createRedisBus({ redis, log, metrics: createMetrics({ processMetrics: false }), clock, random })
  await act(() => bus.start())
  const { position: before } = await historyOf(cluster, mixed)
  /** @type {any} */
  let position
  await scene.lose(5, () => scene.produce(20), async () => {
    const direct = publication({ guid: mixed, value: Buffer.from('"direct"') })
    ;[{ position }] = await act(() => bus.publish([{ publication: direct }]))
    await cluster.until(() => follower.resyncs.length === 1)
  })
  assert.notEqual(position.epoch, before.epoch, 'a log with another source gets a new epoch')
  await scene.shown(35, others)
  for (const guid of others) assert.deepEqual(scene.values(guid), range(35))
  await cluster.until(() => follower.resyncs.length === 2)
  assert.deepEqual(follower.resyncs.map(({ guid }) => guid), [mixed, mixed])
  const late = await cluster.connect('bob')
  const { ok, recovered } = await late.ask('doc:join', { guid: mixed, position })
  assert.deepEqual([ok, recovered], [true, false])
}))

test('records without a log are not carried out again after Redis and ingest have ended together', inScene(async (scene) => {
  const { cluster, follower } = scene
  const ingest = cluster.cluster.slots.find(({ name }) => name.includes('ingest'))
  assert.ok(ingest)
  const everyone = (/** @type {string} */ value) => cluster.produce({ 'x-operator': 'everyone', 'x-event': 'news' }, value)
  const news = () => follower.page.got('news')
  const [server] = cluster.redis.servers
  const saved = server.store.snapshot()
  for (const value of ['a', 'b', 'c']) await everyone(value)
  await cluster.until(() => news().length === 3)
  const { process } = ingest.running
  ingest.running.stop()
  await cluster.until(() => !process.isAlive)
  server.restart(saved, 1000)
  await cluster.until(() => server.isAlive && ingest.running.isReady && ingest.running.process.isAlive)
  await scene.produce(1)
  await everyone('d')
  await cluster.until(() => news().includes('d'))
  await scene.shown(11)
  assert.deepEqual(news(), ['a', 'b', 'c', 'd'])
  assert.deepEqual(follower.resyncs, [])
}))

import '../../simulation/world/patched-time.js'
import '../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { RedisPresence } from '../../../src/people/presence/redis-presence.js'
import { createRedis } from '../../../src/redis/client.js'
import { createKeys } from '../../../src/redis/keys.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { slotOf } from '../../simulation/parts/redis/keys-of.js'
import { worldLog } from '../../simulation/parts/log.js'
import { ShardedRedis } from '../../simulation/parts/redis/shards.js'
import { inWorld } from './in-world.js'

/** A key of the first server. */
const KEY = 'b'

test('listeners hear of a node of Redis Cluster when it is there again, however often it was tried', () => inWorld(async (process) => {
  const { world, clock, random } = process
  const shards = new ShardedRedis(world)
  const redis = createRedis({ urls: shards.url.split(','), name: 'test', log: worldLog(process), clock, random })
  const [server] = shards.servers
  let told = 0
  let answered = 0
  // as the bus: it reads its orders when a node is back, and tries for a time
  redis.onBack(async () => {
    told++
    let isRead = false
    for (const end = clock.monotonic() + 3000; !isRead && clock.monotonic() < end; await clock.sleep(50))
      isRead = await redis.client.get(KEY).then(() => true, () => false)
    if (isRead) answered++
  })
  await redis.start()
  await redis.client.set(KEY, '1')
  await clock.sleep(1000)
  const before = told
  // what else goes on
  const traffic = clock.every(100, () => { redis.client.get(KEY).catch(() => {}) })
  server.restart(undefined, 2000)
  await clock.sleep(2000)
  assert.ok(told - before <= 1, `${told - before} calls while the node was not there`)
  const [tried, read] = [told, answered]
  await clock.sleep(5000)
  assert.ok(told > tried && told - tried <= 2, `${told - tried} calls when it was there again`)
  assert.ok(answered > read)
  traffic.stop()
  await redis.stop()
}))

const { documentPresence, presenceForgotten, workers } = createKeys()
/** @param {string} key @returns {number} index of its server */
const serverOf = (key) => Math.floor(slotOf(key) * 3 / 16_384)

test('while a node of Redis Cluster is down, presence on the others is compared and cleaned up', () => inWorld(async (process) => {
  const { world, clock, random } = process
  const shards = new ShardedRedis(world)
  const log = worldLog(process)
  const redis = createRedis({ urls: shards.url.split(','), name: 'test', log, clock, random })
  await redis.start()
  const guids = Array.from({ length: 20 }, (_, i) => `doc-${i}`)
  const placeOf = (/** @type {string} */ guid) => serverOf(documentPresence(guid)[0])
  const needed = [workers.incarnations, presenceForgotten(3, '3.1')].map(serverOf)
  const down = [0, 1, 2].find((one) => !needed.includes(one)) ?? -1
  const others = guids.filter((guid) => placeOf(guid) !== down)
  assert.ok(others.length > 0 && others.length < guids.length)
  const store = (/** @type {string} */ incarnation) => new RedisPresence({
    redis, maxMembers: 500, workerNumber: 3, incarnation: () => incarnation,
    metrics: createMetrics({ processMetrics: false }), log, clock
  })
  const before = store('3.1')
  await before.start()
  const newId = createSessionIds(3, { clock, random })
  const join = async (/** @type {string[]} */ some) => {
    for (const guid of some) await before.update(guid, [{ op: '+', id: newId(), uid: 'ada', client: '', body: '{}' }])
  }
  const left = async () => {
    const counts = await Promise.all(others.map(async (guid) => (await before.page(guid, { limit: 10 })).count))
    return counts.filter((count) => count > 0).length
  }
  await join(guids)
  assert.equal(await left(), others.length)
  shards.servers[down].restart(shards.servers[down].store.snapshot(), 4500)

  const versions = await before.versions(guids)
  assert.deepEqual(guids.filter((_, i) => versions[i] !== undefined), others)
  await assert.rejects(before.versions(guids.filter((guid) => !others.includes(guid))), { code: 'unavailable' })
  await assert.rejects(before.forget(3, '3.1', { surely: true }), { code: 'unavailable' })
  assert.equal(await left(), 0)

  await join(others)
  const after = store('3.2')
  await after.start()
  assert.equal(await left(), 0)

  await join(others)
  await redis.client.hset(workers.incarnations, '3', '2')
  await assert.rejects(after.sweep(), { code: 'unavailable' })
  assert.equal(await left(), 0)
  assert.equal(shards.servers[down].isAlive, false)
  await redis.stop()
}))

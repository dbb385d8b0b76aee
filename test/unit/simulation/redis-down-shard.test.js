import '../../simulation/world/patched-time.js'
import '../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedis } from '../../../src/redis/client.js'
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

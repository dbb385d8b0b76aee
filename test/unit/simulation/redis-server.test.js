import '../../simulation/world/patched-time.js'
import '../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { RedisServer } from '../../simulation/parts/redis/server.js'
import { inWorld } from './in-world.js'

const open = () => new Redis('redis://redis:6379').on('error', () => {})
const idsOf = async (/** @type {Redis} */ redis) => {
  const info = await redis.info()
  return ['run_id', 'master_replid'].map((field) => new RegExp(`^${field}:(\\w+)`, 'm').exec(info)?.[1])
}

test('a Redis that is started again has the data of its disk, and other ids', () => inWorld(async ({ world }) => {
  const server = new RedisServer(world, 'redis')
  server.start()
  const redis = open()
  await redis.set('a', '1')
  const saved = server.store.snapshot()
  await redis.set('b', '2')
  const before = await idsOf(redis)
  server.restart(saved, 300)
  assert.equal(await redis.get('a'), '1')
  assert.equal(await redis.get('b'), null, 'written after it was saved')
  const after = await idsOf(redis)
  assert.ok([...before, ...after].every((id) => id?.length === 40))
  assert.equal(new Set([...before, ...after]).size, 4)
  server.restart(undefined, 300)
  assert.equal(await redis.get('a'), null)
  redis.disconnect()
}))

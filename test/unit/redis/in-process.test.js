import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { storeRedis } from '../../helpers/store-redis.js'

test('a connection to the store of the same process carries commands and channels, and comes back after a restart', async (t) => {
  const { store, redis } = await storeRedis(t)
  await redis.client.set('a', 'b')
  assert.equal(await redis.client.get('a'), 'b')
  /** @type {string[]} */
  const heard = []
  await redis.channels.subscribe('c', (payload) => heard.push(payload.toString()))
  assert.equal(await redis.client.spublish('c', 'hello'), 1)
  assert.deepEqual(heard, ['hello'])
  const ready = once(redis.client, 'ready')
  store.restart()
  await ready
  assert.equal(await redis.client.get('a'), null)
})

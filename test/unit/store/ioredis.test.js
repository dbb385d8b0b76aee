import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { defineScripts } from '../../../src/redis/scripts.js'
import { testStore } from '../../helpers/store-client.js'

/** @typedef {import('../../../src/redis/store/store.js').Store} Store */

/** @type {Record<string, (t: import('node:test').TestContext, store: Store) => Promise<object>>} options of ioredis */
const WAYS = {
  'a Unix socket': async (t, store) => {
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-store-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'store.sock')
    await store.listen(path)
    return { path }
  },
  TCP: async (_, store) => {
    const server = await store.listen(0)
    return { host: '127.0.0.1', port: /** @type {import('node:net').AddressInfo} */ (server.address()).port }
  },
  'a stream of the same process': async (_, store) => ({
    Connector: class {
      async connect () { return (this.stream = store.connect()) }
      disconnect () { this.stream?.destroy() }
      check () { return true }
    }
  })
}

describe('ioredis', () => {
  for (const [way, open] of Object.entries(WAYS)) {
    for (const protocol of /** @type {const} */ ([2, 3])) {
      it(`works over ${way} with RESP${protocol}: commands, scripts, subscriptions, a restart`, async (t) => {
        const { store } = testStore(t)
        const options = { ...await open(t, store), protocol, connectionName: 'test', retryStrategy: () => 20 }
        const redis = new Redis(options)
        const subscriber = new Redis(options)
        t.after(() => { redis.disconnect(); subscriber.disconnect() })
        await redis.set('bytes', Buffer.from([0, 255, 13, 10]))
        assert.deepEqual(await redis.getBuffer('bytes'), Buffer.from([0, 255, 13, 10]))
        await redis.hset('hash', { a: '1' })
        assert.deepEqual(await redis.hgetall('hash'), { a: '1' })
        await redis.zadd('zset', 1.5, 'a')
        assert.deepEqual(await redis.zrange('zset', '0', '-1', 'WITHSCORES'), ['a', '1.5'])
        const piped = await redis.pipeline().hincrby('n', 'a', 1).hincrby('bytes', 'a', 1).hincrby('n', 'a', 1).exec()
        assert.deepEqual(piped?.map(([error, reply]) => error?.message.slice(0, 9) ?? reply), [1, 'WRONGTYPE', 2])
        assert.match(String(await redis.client('LIST')), / name=test /)

        const channels = Array.from({ length: 300 }, (_, i) => `c${i}`)
        assert.equal(await subscriber.ssubscribe(...channels), 300)
        assert.deepEqual(await redis.pubsub('SHARDNUMSUB', 'c7', 'none'), ['c7', 1, 'none', 0])
        const came = once(subscriber, 'smessageBuffer')
        assert.equal(await redis.spublish('c7', Buffer.from([255])), 1)
        assert.deepEqual(await came, [Buffer.from('c7'), Buffer.from([255])])
        assert.equal(await subscriber.sunsubscribe(...channels.slice(1)), 1)

        const scripts = defineScripts(redis)
        assert.equal(await scripts.note(['marks'], ['1 queue', 60, 10]), 1)
        assert.equal(await scripts.note(['marks'], ['1 queue', 60, 10]), 0)
        const gone = once(redis, 'close')
        store.restart()
        await gone
        assert.equal(await scripts.note(['marks'], ['1 queue', 60, 10]), 1)
      })
    }
  }
})

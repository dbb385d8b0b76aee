import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createKeys } from '../../src/redis/keys.js'
import { createRedisSessions } from '../../src/people/sessions/redis-sessions.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { sessionsContract } from './sessions.js'

const { userHolders, workerDocuments, workerUsers, workers: WORKERS } = createKeys()

for (const [name, url] of BACKENDS) {
  describe(name, () => {
    const { log } = recordingLog()
    const connections = [1, 2].map((i) =>
      testRedis({ urls: url().split(','), name: `test-${i}`, log }))
    const [one, two] = connections.map((redis) => createRedisSessions({ redis }))
    /** @type {number[]} */
    const numbers = []
    before(() => Promise.all(connections.map((redis) => redis.start())))
    after(async () => {
      if (numbers.length > 0) await connections[0].client.hdel(WORKERS.incarnations, ...numbers.map(String))
      await Promise.all(connections.map((redis) => redis.stop()))
    })

    // workers of other tests, which use the same Redis, have low numbers
    let next = randomInt(2000, 4000)
    /** @returns {Promise<string>} a live incarnation */
    async function live () {
      const number = next++
      numbers.push(number)
      await connections[0].client.hset(WORKERS.incarnations, String(number), '1000')
      return `${number}.1000`
    }
    sessionsContract(name, async ({ services } = { services: true }) => {
      const [one, two] = connections.map((redis) => createRedisSessions({ redis, services }))
      return { one, two, first: await live(), second: await live() }
    })

    test('sessions of an ended incarnation are ignored at once, also when its number is leased again', async () => {
      const [first, second] = [await live(), await live()]
      const [uid, guid] = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')]
      for (const [store, holder] of /** @type {const} */ ([
        [one, first],
        [two, second]
      ])) {
        await store.write(holder, [
          [uid, { sessions: [{ sid: holder, transport: 'polling', lastSeen: 1, documents: [guid] }], away: [] }]
        ])
        await store.hold(holder, [
          { uid, op: '+', told: '' },
          { uid, guid, op: '+', told: '' },
          { uid: holder, guid, op: '+', told: '' },
          { guid, op: '+', told: '1' }
        ])
      }
      assert.equal((await one.sessions(uid)).length, 2)
      await connections[0].client.hset(WORKERS.incarnations, String(parseInt(first, 10)), '2000')
      assert.deepEqual((await one.sessions(uid)).map(({ sid }) => sid), [second])
      await two.hold(second, [{ guid, op: '-', told: '' }])
      assert.deepEqual(await one.documents({ prefix: guid, limit: 1 }), [])
      await one.forget(first)
      assert.equal(await connections[0].client.exists(workerDocuments(first)), 0)
    })

    test('the list of a worker with many documents is written in commands of a bounded size', async (t) => {
      const incarnation = await live()
      const { client } = connections[0]
      /** @type {number[]} */
      const sizes = []
      for (const command of /** @type {const} */ (['zadd', 'zrem'])) {
        const send = /** @type {Function} */ (client[command]).bind(client)
        t.mock.method(client, command, (/** @type {any[]} */ ...args) => {
          sizes.push(args.flat().length)
          return send(...args)
        })
      }
      const guids = Array.from({ length: 2500 }, (_, i) => `${incarnation}-${i}`)
      for (const op of /** @type {const} */ (['+', '-'])) {
        const told = await one.hold(incarnation, guids.map((guid) => ({ guid, op, told: '' })))
        assert.equal(told.length, guids.length)
      }
      assert.ok(sizes.length > 0 && Math.max(...sizes) <= 2001, String(sizes))
    })

    test('data of a worker expires if no process cleans up after it', async () => {
      const { client } = connections[0]
      const [writer, silent] = [await live(), await live()]
      await one.write(writer, [['ada', { sessions: [], away: [] }]])
      await one.seen(silent, 1)
      for (const holder of [writer, silent]) assert.ok(await client.ttl(workerUsers(holder)) > 3600)
      await one.hold(writer, [{ guid: 'expires', op: '+', told: '1' }])
      assert.ok(await client.ttl(workerDocuments(writer)) > 3600)
    })

    test('an entry without holders is deleted', async () => {
      const { client } = connections[0]
      const holder = await live()
      const uid = randomBytes(8).toString('hex')
      await one.hold(holder, [{ uid, op: '+', told: '' }])
      await one.hold(holder, [{ uid, op: '-', told: '1' }])
      assert.equal(await client.exists(userHolders(uid)), 1)
      await one.hold(holder, [{ uid, op: '=', told: '0' }])
      assert.equal(await client.exists(userHolders(uid)), 0)
      const silent = createRedisSessions({ redis: connections[0], services: false })
      await silent.hold(holder, [{ uid, op: '+', told: '' }])
      assert.equal(await client.exists(userHolders(uid)), 1)
      await silent.hold(holder, [{ uid, op: '-', told: '' }])
      assert.equal(await client.exists(userHolders(uid)), 0)
    })
  })
}

test('while Redis is unavailable calls reject with unavailable', async () => {
  const redis = testRedis({ urls: ['redis://127.0.0.1:1'], name: 'test', log: recordingLog().log })
  try {
    const store = createRedisSessions({ redis })
    await assert.rejects(store.write('1.1', [['a', null]]), { code: 'unavailable', retryable: true })
    const [held] = await store.hold('1.1', [{ uid: 'a', op: '+', told: '' }])
    const [[uid, ended]] = await store.ended([['a', 1]])
    assert.equal(uid, 'a')
    for (const error of /** @type {any[]} */ ([held, ended]))
      assert.deepEqual([error.code, error.retryable], ['unavailable', true])
    await assert.rejects(store.documents({ limit: 1 }), { code: 'unavailable', retryable: true })
    await assert.rejects(
      store.session(createSessionIds(1, { clock: systemClock, random: systemRandom })()), { code: 'unavailable', retryable: true }
    )
    await assert.rejects(store.sessions('a'), { code: 'unavailable', retryable: true })
  } finally {
    await redis.stop()
  }
})

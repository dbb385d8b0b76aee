import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Cluster } from 'ioredis'
import { emptyEpochBeside } from '../../src/redis/empty-epoch.js'
import { createKeys } from '../../src/redis/keys.js'
import { areEmpty } from '../../src/wire/position.js'
import { storeUrl } from '../helpers/backends.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { startRedis } from '../services/redis.js'
import { arrived, createFixture, entry, fresh, range, texts } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const { documentLog, documentMeta } = createKeys()

/**
 * Documents without a record: no key of their own, and an epoch that their first record continues. With a single Redis
 * all of them share this epoch, so these tests have their own; a Redis Cluster has one for each hash slot.
 */

const scope = fileScope()
const own = await startRedis()
scope.after(() => own.stop())

for (const [name, url] of /** @type {[string, () => string][]} */ ([
  ['built-in store', storeUrl],
  ['redis', () => own.url],
  ['redis cluster', redisClusterUrl]
])) {
  describe(`documents without a record in ${name}`, () => {
    /** @type {Awaited<ReturnType<typeof createRedisPair>>} */
    let redisPair
    const fixture = createFixture((options) => createRedisPair(url(), options))
    before(async () => {
      await fixture.start()
      redisPair = /** @type {typeof redisPair} */ (/** @type {unknown} */ (fixture.pair))
    })
    after(() => fixture.stop())
    const client = () => redisPair.connections[0].client
    const epochKey = (/** @type {string} */ guid) => emptyEpochBeside(redisPair.connections[0], documentMeta(guid))

    test('a document without records has no key of its own, however it is used, and its first record continues its position', async () => {
      const { first, second, publisher, one } = fixture.pair
      const guid = fresh()
      const keysOf = async () => {
        const nodes = client() instanceof Cluster ? /** @type {Cluster} */ (client()).nodes('master') : [client()]
        const all = await Promise.all(nodes.map((node) => node.keys(`*${guid}*`)))
        return all.flat()
      }
      const start = await first.subscribe(guid)
      assert.equal(start.offset, 0)
      assert.deepEqual(await second.subscribe(guid), start)
      assert.deepEqual(await second.positions([guid]), [start])
      assert.deepEqual(await second.history(guid, start, 10), { position: start, records: [], gap: null })
      assert.equal((await second.history(guid, { ...start, offset: 1 }, 10)).gap, 'epoch')
      assert.equal((await second.history(guid, { epoch: 'other', offset: 0 }, 10)).gap, 'epoch')
      await second.cut(guid, start)
      assert.deepEqual(await keysOf(), [])
      const [{ position }] = await publisher.publish([entry(guid, 1)])
      assert.deepEqual(position, { ...start, offset: 1 })
      await arrived(one, guid, 1)
      const { records, gap } = await second.history(guid, start, 10)
      assert.deepEqual([texts(records), gap], [[1], null])
      assert.ok(!one.reconnects.flat().includes(guid))
    })

    for (const what of /** @type {const} */ (['the meta', 'all of Redis but the log', 'all of Redis'])) {
      test(`a document that has lost ${what} never continues with an epoch that it had`, async () => {
        const { first, second, publisher, one } = fixture.pair
        const guid = fresh()
        const start = await first.subscribe(guid)
        await publisher.publish(range(3, 1).map((i) => entry(guid, i)))
        await arrived(one, guid, 3)
        if (what === 'the meta') await client().del(documentMeta(guid))
        else await client().del(documentMeta(guid), epochKey(guid))
        if (what === 'all of Redis') await client().del(documentLog(guid))
        assert.equal((await second.history(guid, { ...start, offset: 3 }, 10)).gap, 'epoch')
        // a worker that knows the document looks
        const [end] = await first.positions([guid])
        const [{ position }] = await publisher.publish([entry(guid, 'new')])
        assert.notEqual(position?.epoch, start.epoch)
        assert.equal(end?.offset, 0)
        assert.equal((await second.history(guid, { ...start, offset: 1 }, 10)).gap, 'epoch')
      })
    }

    test('the epoch of empty documents changes before a document can have lost its position', async () => {
      const { first, second, publisher } = fixture.pair
      const guid = fresh()
      const key = epochKey(guid)
      const now = Number((await client().time())[0])
      const changed = async (/** @type {(fields: string[]) => void} */ change) => {
        const { epoch } = await first.subscribe(guid)
        const fields = String(await client().get(key)).split(' ')
        change(fields)
        await client().set(key, fields.join(' '), 'EX', 1000)
        const next = await second.subscribe(guid)
        assert.deepEqual(await second.positions([guid]), [next])
        return [epoch, next.epoch]
      }
      /** @type {[string, (fields: string[]) => void, boolean][]} */
      const changes = [
        ['time', (fields) => { fields[1] = String(now - 6 * 86_400) }, true],
        ['eviction', (fields) => { fields[3] = String(Number(fields[3]) + 1) }, true],
        ['generation', (fields) => { fields[2] = 'x'.repeat(20) }, false],
        ['foreign', (fields) => { fields.splice(0, 4, 'x') }, false]
      ]
      for (const [what, change, sameName] of changes) {
        const [before, after] = await changed(change)
        assert.notEqual(after, before, what)
        assert.equal(areEmpty({ epoch: before, offset: 0 }, { epoch: after, offset: 0 }), sameName, what)
      }
      // the clock was set back: from now on the turn lasts 6 days, as the logs that have begun with it live for 7
      const [earlier, same] = await changed((fields) => { fields[1] = String(now + 3600) })
      assert.equal(same, earlier)
      assert.ok(Number(String(await client().get(key)).split(' ')[1]) < now + 600)
      const [before, after] = await changed((fields) => { fields[1] = String(now - 6 * 86_400 + 100) })
      assert.equal(after, before)
      const [{ position }] = await publisher.publish([entry(guid, 1)])
      assert.equal(position?.epoch, after)
    })

    test('300 documents of many hash slots: the first record of each continues the position of an empty document', async () => {
      const { first, second, publisher, one } = fixture.pair
      const guids = range(300).map(() => fresh())
      const before = await Promise.all(guids.map((guid) => first.subscribe(guid)))
      assert.deepEqual(await second.positions(guids), before)
      // not all at once: on a busy machine the last ones would be answered too late
      for (let at = 0; at < guids.length; at += 30)
        await Promise.all(guids.slice(at, at + 30).map((guid, i) => publisher.publish([entry(guid, at + i)])))
      await Promise.all(guids.map((guid) => arrived(one, guid, 1)))
      const found = await Promise.all(guids.map((guid, i) => second.history(guid, before[i], 10)))
      assert.ok(found.every(({ gap, records }, i) => gap === null && texts(records)[0] === i && records.length === 1))
      assert.ok(!one.reconnects.flat().some((guid) => guids.includes(guid)))
      for (const guid of guids) await first.unsubscribe(guid)
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createKeys } from '../../src/redis/keys.js'
import { BACKENDS } from '../helpers/backends.js'
import { arrived, createFixture, entry, fresh, publication, range } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const prefix = fresh('test')
const { documentMeta, userOrdered, userOrders, userWorkers } = createKeys(prefix)

/** Data about users in Redis: their workers, and the kicks and revokes kept for them. */
for (const [name, url] of BACKENDS) {
  describe(`routing and orders of the bus in ${name}`, () => {
    /** @type {Awaited<ReturnType<typeof createRedisPair>>} */
    let redisPair
    const fixture = createFixture((options) => createRedisPair(url(), options, { prefix }))
    before(async () => {
      await fixture.start()
      redisPair = /** @type {typeof redisPair} */ (/** @type {unknown} */ (fixture.pair))
    })
    after(() => fixture.stop())
    const client = () => redisPair.connections[0].client

    test('the entry of a dead worker expires from the workers of a user', async () => {
      const { first, second } = fixture.pair
      const uid = fresh('user')
      await first.addUser(uid)
      await second.addUser(uid)
      const key = userWorkers(uid)
      assert.deepEqual((await client().zrange(key, '0', '-1')).sort(), fixture.workers.map(String).sort())
      const ttl = await client().ttl(key)
      assert.ok(ttl > 2100 && ttl <= 2400, `${ttl} s`)
      await client().zadd(key, 1, '77')
      await first.addUser(uid)
      assert.ok(!(await client().zrange(key, '0', '-1')).includes('77'))
    })

    test('with Redis Cluster a revoke is also sent on the channel of its document', async () => {
      const { first, publisher, one } = fixture.pair
      const [uid, guid] = [fresh('user'), fresh()]
      await first.addUser(uid)
      await first.subscribe(guid)
      // as if the worker's channel were late
      await client().del(userWorkers(uid))
      await publisher.publish([{ publication: publication({ operator: 'revoke', uid, guid }) }])
      await publisher.publish([entry(guid, 'behind')])
      await arrived(one, guid, 1)
      assert.equal(
        one.directs.filter((direct) => direct.uid === uid).length,
        redisPair.connections[0].isCluster ? 1 : 0
      )
    })

    test('after a loss of data and a step of the clock back, an order gets a later time than the workers know', async () => {
      const { first, publisher, one } = fixture.pair
      const uids = range(250).map(() => fresh('user'))
      const known = Date.now() + 60_000
      for (const uid of uids) await first.addUser(uid)
      await /** @type {any} */ (first).catchUp(uids.map((uid) => [uid, known]))
      for (const uid of [uids[0], uids[249]]) {
        await publisher.publish([{ publication: publication({ operator: 'kick', uid }) }])
        assert.deepEqual(await client().zrange(userOrders(uid), '0', '-1', 'WITHSCORES'), ['k', String(known + 1)])
        assert.equal(one.directs.filter((direct) => direct.uid === uid).length, 1)
      }
      // what Redis knows to be later stays
      await /** @type {any} */ (first).catchUp([[uids[0], known]])
      await publisher.publish([{ publication: publication({ operator: 'kick', uid: uids[0] }) }])
      assert.deepEqual(await client().zrange(userOrders(uids[0]), '0', '-1', 'WITHSCORES'), ['k', String(known + 2)])
    })

    test('a retry of an order has its time and its id: nothing is carried out twice, and what was ordered meanwhile stays', async () => {
      const { first, publisher, one } = fixture.pair
      const [uid, guid] = [fresh('user'), fresh()]
      await first.addUser(uid)
      const orders = async () => Object.fromEntries((await client().zrange(userOrders(uid), '0', '-1', 'WITHSCORES'))
        .flatMap((name, i, all) => i % 2 === 0 ? [[name, Number(all[i + 1])]] : []))
      const received = () => one.directs.filter((direct) => direct.uid === uid).map(({ operator }) => operator)
      /** @param {'kick' | 'revoke' | 'restore' | 'leave'} operator @param {number} [ttl] */
      const order = (operator, ttl) =>
        [{ publication: publication({ operator, uid, ttl, guid: operator === 'kick' ? undefined : guid }) }]
      const [kick, leave, revoke, close, restore] =
        [order('kick'), order('leave'), order('revoke'), order('revoke', 60), order('restore')]
      await publisher.publish(kick)
      const kicked = await orders()
      await publisher.publish(leave)
      for (const retried of [kick, leave]) await publisher.publish(retried)
      assert.deepEqual([await orders(), received()], [kicked, ['kick', 'leave']])
      for (const entries of [revoke, close, restore]) await publisher.publish(entries)
      const restored = await orders()
      assert.deepEqual(Object.keys(restored), ['k', `s${guid}`])
      for (const retried of [revoke, close, restore]) await publisher.publish(retried)
      assert.deepEqual(await orders(), restored)
      await publisher.publish(order('revoke'))
      const again = await orders()
      await publisher.publish(restore)
      assert.deepEqual(await orders(), again)
      const all = received()
      assert.deepEqual(all, ['kick', 'leave', 'revoke', 'revoke', 'restore', 'revoke'])
      // an order that Redis has lost is a new one
      await client().del(userOrders(uid))
      await publisher.publish(kick)
      assert.deepEqual(Object.keys(await orders()), ['k'])
      assert.ok((await orders()).k > again[`r${guid}`])
      assert.deepEqual(received(), [...all, 'kick'])
      assert.equal(Number(await client().get(userOrdered(uid))), (await orders()).k)
      // the end of a ban takes back no kick
      await publisher.publish([{ publication: publication({ operator: 'restore', uid, guid: undefined }) }])
      await client().zrem(userOrders(uid), 'k')
      await publisher.publish(kick)
      assert.deepEqual(Object.keys(await orders()).sort(), ['k', 's'])
    })

    test('a record of Kafka that ingest reads again after a restart has the same id, unless another record has its offset', async () => {
      const { first, publisher, one } = fixture.pair
      const [uid, guid] = [fresh('user'), fresh()]
      await first.addUser(uid)
      const record = (/** @type {number} */ sequence, timestamp = 1) => [{
        publication: publication({ operator: 'leave', uid, guid, timestamp }),
        origin: { source: 'topic/0', sequence, epoch: 1 }
      }]
      await publisher.publish(record(1))
      await publisher.publish(record(2))
      await fixture.pair.second.publish(record(1))
      assert.equal(one.directs.filter((direct) => direct.uid === uid).length, 2)
      await publisher.publish(record(1, 2))
      assert.equal(one.directs.filter((direct) => direct.uid === uid).length, 3)
    })

    test('orders about a user are bounded: one about every document replaces the oldest, and they expire after seven days', async () => {
      const { first, publisher, one } = fixture.pair
      const uid = fresh('user')
      const key = userOrders(uid)
      const now = Date.now()
      await client().zadd(key, ...range(1000).flatMap((i) => [now - 1000 + i, `rdoc-${i}`]))
      await publisher.publish([{ publication: publication({ operator: 'revoke', uid, guid: 'one-more' }) }])
      assert.equal(await client().zcard(key), 1000)
      assert.deepEqual(await client().zrange(key, '0', '1', 'WITHSCORES'), [
        '*',
        String(now - 999),
        'rdoc-2',
        String(now - 998)
      ])
      await publisher.publish([{ publication: publication({ operator: 'revoke', uid, guid: 'and-more' }) }])
      assert.deepEqual(await client().zrange(key, '0', '0', 'WITHSCORES'), ['*', String(now - 998)])
      const week = 7 * 86_400
      assert.ok((await client().ttl(key)) > week - 60 && (await client().ttl(key)) <= week)
      await client().zadd(key, now - week * 1000 - 1000, 'rdoc-500')
      await publisher.publish([{ publication: publication({ operator: 'kick', uid }) }])
      assert.equal(await client().zscore(key, 'rdoc-500'), null)
      await first.addUser(uid)
      const told = new Map(one.orders.find((told) => told.uid === uid)?.orders)
      assert.equal(told.size, 1000)
      assert.equal(told.get('*'), now - 998)
    })

    test('a key of another type causes an error that is not temporary', async () => {
      const guid = fresh()
      await client().set(documentMeta(guid), 'x')
      await assert.rejects(
        fixture.pair.publisher.publish([entry(guid, 1)]),
        (/** @type {any} */ error) =>
          error.code === 'internal' && !JSON.stringify(error.cause.command ?? {}).includes('args')
      )
      const other = fresh()
      const position = await fixture.pair.first.subscribe(other)
      assert.deepEqual(
        await fixture.pair.first.positions([guid, other]),
        [null, position],
        'other documents are not affected'
      )
      await client().del(documentMeta(guid))
      await fixture.pair.publisher.publish([{ publication: publication({ guid }) }])
    })
  })
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { createKeys } from '../../src/redis/keys.js'
import { fileScope } from '../helpers/file-scope.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'
import { arrived, createFixture, createInbox, entry, fresh, handlersOf, of, offsets, range, texts } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const { documentMeta } = createKeys()

/**
 * A Redis that restarts without its last writes, or fails over to a replica that was behind: before any worker looks,
 * new records may already have the offsets of the lost ones.
 */

const scope = fileScope()

/** @param {string[]} [args] */
async function ownServer (args) {
  const server = await startRedis({ args })
  scope.after(() => server.stop())
  const admin = new Redis(server.url, { retryStrategy: () => 50 })
  admin.on('error', () => {})
  scope.after(() => admin.disconnect())
  return { server, admin }
}

/** Retries a call until Redis is available. @template T @param {() => Promise<T>} call */
const back = (call) => waitFor(call, { timeout: 15_000, message: 'redis to be available' })

const LOST = 20

describe('a Redis that restarts without its last writes', async () => {
  const { server, admin } = await ownServer()
  const fixture = createFixture((options) => createRedisPair(server.url, options))
  await fixture.start()
  scope.after(() => fixture.stop())

  /**
   * Publishes ten records that survive a restart and LOST that do not, and restarts Redis.
   * @param {string} guid
   * @param {boolean} [live] a worker has subscribed it
   */
  async function lose (guid, live = false) {
    const { publisher, one } = fixture.pair
    await back(() => publisher.publish(range(10, 1).map((i) => entry(guid, i))))
    await back(() => admin.save())
    await publisher.publish(range(LOST, 11).map((i) => entry(guid, i)))
    if (live) await arrived(one, guid, 10 + LOST)
    await server.kill('SIGKILL')
    await server.restart()
  }

  for (const made of [0, 1, LOST, 3 * LOST]) {
    test(`begins another epoch before it assigns an offset twice: ${LOST} records lost, ${made} new ones before it looks`, async () => {
      const { first, second, publisher } = fixture.pair
      const guid = fresh()
      const start = await back(() => first.subscribe(guid))
      await lose(guid, true)
      const new_ = made === 0 ? [] : await back(() => publisher.publish(range(made, 1000).map((i) => entry(guid, i))))
      new_.forEach(({ position }, i) => {
        assert.notEqual(position?.epoch, start.epoch)
        assert.equal(position?.offset, 10 + i + 1)
      })
      // a worker without the document, for a client that was connected until the outage
      for (const offset of [0, 5, 10, 15, 10 + LOST])
        assert.equal((await back(() => second.history(guid, { ...start, offset }, 100))).gap, 'epoch', `from ${offset}`)
      const [end] = await back(() => first.positions([guid]))
      assert.notEqual(end?.epoch, start.epoch)
      assert.equal(end?.offset, 10 + made)
      // what Redis still has stays in the log: it may have been acknowledged
      const kept = await back(() => second.history(guid, { epoch: String(end?.epoch), offset: 0 }, 100))
      assert.deepEqual(texts(kept.records), [...range(10, 1), ...range(made, 1000)])
    })
  }

  test('a log with keys keeps its counts: the newest record of each key stays, and no client misses the others', async () => {
    const { first, publisher } = fixture.pair
    const guid = fresh()
    const keyed = (/** @type {number} */ i) => entry(guid, i, { key: `k${i % 2}` })
    await back(() => publisher.publish(range(6, 1).map(keyed)))
    await back(() => admin.save())
    await server.kill('SIGKILL')
    await server.restart()
    const [{ position }] = await back(() => publisher.publish([keyed(7)]))
    assert.equal(position?.offset, 7)
    const { records, gap } = await back(() => first.history(guid, { epoch: String(position?.epoch), offset: 0 }, 10))
    assert.equal(gap, null)
    assert.deepEqual(texts(records), [6, 7])
  })

  test('notifies workers that have the document open, even without new records', async () => {
    const { first, one } = fixture.pair
    const guid = fresh()
    const start = await back(() => first.subscribe(guid))
    const before = one.reconnects.length
    await lose(guid, true)
    await waitFor(() => one.reconnects.slice(before).flat().includes(guid), { timeout: 15_000, message: 'onReconnect' })
    const [end] = await back(() => first.positions([guid]))
    assert.notEqual(end?.epoch, start.epoch)
    assert.deepEqual(await first.subscribe(guid), end)
    assert.equal((await first.history(guid, { ...start, offset: 10 }, 10)).gap, 'epoch')
  })

  test('all workers get the same new log, whichever begins it', async () => {
    const guid = fresh()
    await lose(guid)
    const { first, second, publisher } = fixture.pair
    const all = await Promise.all([first, second].map((bus) => back(() => bus.subscribe(guid))))
    assert.deepEqual(all[0], all[1])
    const [{ position }] = await back(() => publisher.publish([entry(guid, 'new')]))
    assert.deepEqual(position, { epoch: all[0].epoch, offset: 11 })
    assert.deepEqual(await second.positions([guid]), [position])
  })

  test('records from Kafka are still recognized by their offsets', async () => {
    const guid = fresh()
    const of = (/** @type {number} */ sequence) => ({ ...entry(guid, sequence), origin: { source: 't/0', sequence } })
    await back(() => fixture.pair.publisher.publish([of(1), of(2)]))
    await lose(guid)
    const published = await back(() => fixture.pair.publisher.publish([of(2), of(3)]))
    assert.deepEqual(published.map(({ duplicate }) => duplicate), [true, false])
    // 1 and 2 by number, then ten and the new one
    assert.equal(published[1].position?.offset, 13)
  })

  test('a document of an earlier version, without a generation, keeps its log', async () => {
    const { publisher, first } = fixture.pair
    const guid = fresh()
    const [{ position }] = await publisher.publish([entry(guid, 1)])
    await admin.hdel(documentMeta(guid), 'g')
    assert.deepEqual((await publisher.publish([entry(guid, 2)]))[0].position, { ...position, offset: 2 })
    assert.notEqual(await admin.hget(documentMeta(guid), 'g'), null)
    await admin.hdel(documentMeta(guid), 'g')
    assert.deepEqual(await back(() => first.subscribe(guid)), { ...position, offset: 2 })
  })
})

describe('a failover to a replica that was behind', async () => {
  const { server: master, admin } = await ownServer()
  const { server: replica, admin: replicaAdmin } = await ownServer()
  await replicaAdmin.call('REPLICAOF', '127.0.0.1', master.port)
  await waitFor(async () => /master_link_status:up/.test(await replicaAdmin.info('replication')), {
    timeout: 20_000,
    message: 'the replication to start'
  })
  const fixture = createFixture((options) => createRedisPair(master.url, options))
  await fixture.start()
  scope.after(() => fixture.stop())

  test('begins another epoch, and so does the old master when it is promoted again with its open connections', async () => {
    const { first, publisher, one } = fixture.pair
    const guid = fresh()
    const start = await first.subscribe(guid)
    await publisher.publish(range(3, 1).map((i) => entry(guid, i)))
    await waitFor(async () => (await replicaAdmin.hget(documentMeta(guid), 'o')) === '3', {
      message: 'the records on the replica'
    })
    await replicaAdmin.call('REPLICAOF', 'NO', 'ONE')
    await publisher.publish(range(5, 4).map((i) => entry(guid, i)))
    await arrived(one, guid, 8)
    const other = await createRedisPair(replica.url, {
      handlers: [handlersOf(createInbox()), handlersOf(createInbox())],
      workers: [1, 2],
      history: { size: 100, ttl: 60 }
    })
    scope.after(() => other.stop())
    assert.equal((await other.first.history(guid, { ...start, offset: 3 }, 10)).gap, 'epoch')

    // a document that no call uses on the replica
    const quiet = fresh()
    const [{ position }] = await publisher.publish([entry(quiet, 1)])
    await admin.call('REPLICAOF', '127.0.0.1', replica.port)
    await waitFor(async () => /master_link_status:up/.test(await admin.info('replication')), {
      timeout: 20_000,
      message: 'the old master to be a replica'
    })
    await admin.call('REPLICAOF', 'NO', 'ONE')
    const again = await back(() => publisher.publish([entry(quiet, 2), entry(quiet, 3)]))
    assert.ok(again.every((published) => published.position?.epoch !== position?.epoch))
    const [after] = await back(() => publisher.publish([entry(guid, 'new')]))
    assert.notEqual(after.position?.epoch, start.epoch)
    assert.ok(offsets(of(one, guid)).length >= 8)
  })
})

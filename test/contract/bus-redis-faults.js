import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { Backoff, retry } from '../../src/base/common/backoff.js'
import { InkcastError } from '../../src/base/common/errors.js'
import { createKeys } from '../../src/redis/keys.js'
import { ANSWER_TIMEOUT } from '../../src/redis/options.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { waitFor } from '../helpers/wait.js'
import { arrived, createFixture, entry, fresh, of, offsets, publication, range, texts } from './bus-fixture.js'
import { createRedisPair } from './bus-redis-pair.js'

const { documentChannel, orderReport, workers: WORKERS, workerOrders } = createKeys()

/**
 * The Redis bus during outages of Redis: on separate servers, which are killed, stopped and restarted.
 *
 * @typedef {{ url: string, nodes: import('../services/redis.js').RedisServer[], stop: () => Promise<void> }} Servers
 */

/**
 * Maximum time until a command fails, ms: the reply timeout of 2 s, another second for a subscribe, and a very slow
 * machine.
 */
const FAILS_WITHIN = 20_000

/**
 * @template T
 * @param {Promise<T>} call
 * @returns {Promise<T>} after FAILS_WITHIN rejects with an error that is not in the table
 */
const inTime = (call) =>
  Promise.race([
    call,
    delay(FAILS_WITHIN, undefined, { ref: false }).then(() => {
      throw new Error(`not settled after ${FAILS_WITHIN} ms`)
    })
  ])

/** @param {unknown} error */
const unavailable = (error) => error instanceof InkcastError && error.code === 'unavailable' && error.retryable
/** `unavailable`, or `timeout` for an unknown outcome. @param {unknown} error */
const failed = (error) =>
  unavailable(error) || (error instanceof InkcastError && error.code === 'timeout' && error.retryable)

/**
 * @param {string} name
 * @param {() => Promise<Servers>} startServers
 */
export function redisFaults (name, startServers) {
  describe(`faults: ${name}`, () => {
    /** @type {Servers} */
    let servers
    /** @type {ReturnType<typeof createFixture>} */
    let fixture
    before(async () => {
      servers = await startServers()
      fixture = createFixture((options) => createRedisPair(servers.url, options, { answerTimeout: ANSWER_TIMEOUT }))
      await fixture.start()
    })
    after(async () => {
      await fixture?.stop()
      await servers?.stop()
    })
    beforeEach(() => waitFor(() => works(), { timeout: 20_000, message: 'the bus to work before the test' }))

    /** @param {(admin: Redis) => Promise<unknown>} act on every node */
    async function onNodes (act) {
      for (const { url } of servers.nodes) {
        const admin = new Redis(url, { lazyConnect: true })
        try {
          await admin.connect()
          await act(admin)
        } finally {
          admin.disconnect()
        }
      }
    }

    /** Publications are delivered live to both workers. */
    async function works () {
      const { first, second, publisher, one, two } = fixture.pair
      const guids = range(8).map(() => fresh('works'))
      await Promise.all(guids.flatMap((guid) => [first.subscribe(guid), second.subscribe(guid)]))
      await Promise.all(guids.map((guid) => publisher.publish([entry(guid, 'works')])))
      await waitFor(() => guids.every((guid) => of(one, guid).length > 0 && of(two, guid).length > 0), {
        timeout: 1000
      })
      await Promise.all(guids.flatMap((guid) => [first.unsubscribe(guid), second.unsubscribe(guid)]))
      return true
    }

    /** Subscribes several documents, so that with Redis Cluster each node has some. */
    async function subscribed () {
      const guids = range(12).map(() => fresh())
      await Promise.all(guids.map((guid) => fixture.pair.first.subscribe(guid)))
      return guids
    }

    /** @param {string[]} guids @param {number} since */
    async function reconnected (guids, since) {
      const told = () => new Set(fixture.pair.one.reconnects.slice(since).flat())
      await waitFor(() => guids.every((guid) => told().has(guid)), {
        timeout: 15_000,
        message: () => `onReconnect with ${guids.length} documents, had ${told().size}`
      })
    }

    test('after a lost pub/sub connection onReconnect follows when all is subscribed again, and live delivery continues', async () => {
      const { publisher, one } = fixture.pair
      const guids = await subscribed()
      for (let round = 1; round <= 3; round++) {
        const before = one.reconnects.length
        await onNodes((admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
        await reconnected(guids, before)
        // subscribed again: no record may be missed from here on
        await Promise.all(guids.map((guid) => publisher.publish([entry(guid, round)])))
        for (const guid of guids) {
          await arrived(one, guid, round)
          assert.deepEqual(offsets(of(one, guid)), range(round, 1))
        }
      }
    })

    for (const leased of [true, false]) {
      test('a kick or revoke during an interruption of pub/sub arrives once, ' +
        `${leased ? 'and publish waits until it is received or read' : 'also at a worker whose lease has ended'}`, async () => {
        const { first, publisher, one } = fixture.pair
        const { client } = /** @type {any} */ (fixture.pair).connections[2]
        const [number] = fixture.workers
        if (leased) await client.zadd(WORKERS.expiry, Date.now() + 600_000, number)
        else await client.zrem(WORKERS.expiry, number)
        const uids = range(10).map(() => fresh('user'))
        await Promise.all(uids.map((uid) => first.addUser(uid)))
        /** @type {Partial<import('./bus-fixture.js').Publication>[]} */
        const orders = uids.flatMap((uid) => [
          { operator: 'kick', uid },
          { operator: 'revoke', uid, guid: fresh() },
          { operator: 'kick', uid, sid: createSessionIds(number, { clock: systemClock, random: systemRandom })() }
        ])
        const nameOf = (/** @type {Partial<import('./bus-fixture.js').Publication>} */ { operator, uid, guid, sid }) =>
          [operator, uid, guid, sid].join('\n')
        const arrivals = () =>
          orders.map((order) => one.directs.filter((direct) => nameOf(direct) === nameOf(order)).length)
        await onNodes((admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
        // as ingest and callers of the api retry
        await Promise.all(orders.map((order) => retry(() => publisher.publish([{ publication: publication(order) }]), {
          clock: systemClock, backoff: new Backoff({ random: systemRandom })
        })))
        await waitFor(() => arrivals().every((count) => count > 0), { timeout: 20_000, message: () => arrivals() })
        // the channel for everyone is interrupted as well, so repeat the mark
        const mark = fresh('mark')
        await waitFor(
          async () => {
            await publisher.publish([{ publication: publication({ operator: 'everyone', event: mark }) }])
            return one.directs.some(({ event }) => event === mark)
          },
          { timeout: 20_000, message: 'the mark' }
        )
        assert.deepEqual(arrivals(), orders.map(() => 1))
        // orders received live are removed from Redis too
        await waitFor(async () => (await client.hlen(workerOrders(number))) === 0, {
          timeout: 20_000,
          message: 'no kept orders'
        })
        assert.deepEqual(arrivals(), orders.map(() => 1))
        await client.zrem(WORKERS.expiry, number)
      })
    }

    test('a kick is published only when its live worker has carried it out; until then publish rejects with unavailable', async () => {
      const { publisher, one } = fixture.pair
      const { client } = /** @type {any} */ (fixture.pair).connections[2]
      // a number with a lease but without a subscriber
      const number = 4094
      const kick = { publication: publication({
        operator: 'kick', sid: createSessionIds(number, { clock: systemClock, random: systemRandom })()
      }) }
      assert.deepEqual((await publisher.publish([kick]))[0].carriedOut, { connections: 0, workers: 0 })
      await client.del(workerOrders(number))
      await client.zadd(WORKERS.expiry, Date.now() + 600_000, number)
      try {
        await assert.rejects(inTime(publisher.publish([kick])), unavailable)
        const [id] = await client.hkeys(workerOrders(number))
        await client.del(workerOrders(number))
        const published = publisher.publish([kick])
        await waitFor(async () => (await client.hlen(workerOrders(number))) === 1, { message: 'the kept order' })
        // as if the worker had carried it out: a retry has the same id
        await client.set(orderReport(number, id), 0, 'EX', 60)
        await client.del(workerOrders(number))
        await published
        for (let i = 0; i < 10_000; i += 500)
          await client.hset(workerOrders(number), ...range(500, i).flatMap((id) => [id, 'x']))
        await assert.rejects(publisher.publish([kick]), unavailable)
        assert.equal(await client.hlen(workerOrders(number)), 10_000)
      } finally {
        await client.del(workerOrders(number))
        await client.zrem(WORKERS.expiry, number)
      }
      assert.ok(!one.directs.some(({ sid }) => sid === kick.publication.sid))
    })

    test('an unsubscribe during an interruption stays in effect', async () => {
      const { first, publisher, one } = fixture.pair
      const guids = await subscribed()
      const before = one.reconnects.length
      await onNodes((admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
      // its node may have reconnected before the last kill
      const away = one.reconnects.length
      await first.unsubscribe(guids[0])
      await reconnected(guids.slice(1), before)
      assert.ok(!one.reconnects.slice(away).flat().includes(guids[0]))
      await Promise.all(guids.map((guid) => publisher.publish([entry(guid, 1)])))
      for (const guid of guids.slice(1)) await arrived(one, guid, 1)
      assert.deepEqual(of(one, guids[0]), [])
    })

    test('a document that is unsubscribed while missed orders are read is not reported as interrupted', async () => {
      const { first, one } = fixture.pair
      const [{ client, channels }] = /** @type {any} */ (fixture.pair).connections
      const guids = await subscribed()
      let letRead = () => {}
      const readable = new Promise((resolve) => { letRead = () => resolve(undefined) })
      const read = client.hgetallBuffer
      client.hgetallBuffer = async (/** @type {unknown[]} */ ...args) => {
        await readable
        return read.apply(client, args)
      }
      try {
        const restored = new Promise((resolve) => {
          channels.onRestored((/** @type {string[]} */ names) => {
            if (names.includes(documentChannel(guids[0]))) resolve(undefined)
          })
        })
        const before = one.reconnects.length
        await onNodes((admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
        await restored
        await first.unsubscribe(guids[0])
        letRead()
        await reconnected(guids.slice(1), before)
        assert.ok(!one.reconnects.slice(before).flat().includes(guids[0]))
      } finally {
        letRead()
        client.hgetallBuffer = read
      }
    })

    test('scripts that Redis has lost are sent again', async () => {
      const { first, publisher, one } = fixture.pair
      const guids = await subscribed()
      await onNodes((admin) => admin.script('FLUSH'))
      await Promise.all(guids.map((guid) => publisher.publish([entry(guid, 1), entry(guid, 2)])))
      for (const guid of guids) await arrived(one, guid, 2)
      await onNodes((admin) => admin.script('FLUSH'))
      assert.deepEqual(
        (await Promise.all(guids.map((guid) => first.history(guid, { epoch: '', offset: 0 }, 1)))).map(
          ({ gap }) => gap
        ),
        guids.map(() => 'epoch')
      )
    })

    test('while Redis is stopped all calls fail in time, and they work after its restart', async () => {
      const { first, publisher, one, two } = fixture.pair
      const guids = await subscribed()
      const uid = fresh('user')
      await first.addUser(uid)
      const starts = await first.positions(guids)
      const offered = guids.map((guid, i) => [{ ...entry(guid, 'kept once'), origin: { source: 't/0', sequence: i } }])
      const before = one.reconnects.length
      for (const node of servers.nodes) await node.kill()

      for (let round = 0; round < 3; round++) {
        /** @type {Promise<unknown>[]} */
        const calls = [
          ...offered.map((entries) => publisher.publish(entries)),
          first.subscribe(fresh()),
          first.history(guids[0], { epoch: 'x', offset: 0 }, 1),
          first.positions(guids),
          first.addUser(fresh('user')),
          publisher.publish([{ publication: publication({ operator: 'user', uid }) }]),
          publisher.publish([entry(guids[0], 'signal', { ephemeral: true })]),
          publisher.publish([{ publication: publication({ operator: 'everyone' }) }])
        ]
        for (const result of await inTime(Promise.allSettled(calls))) {
          assert.equal(result.status, 'rejected')
          assert.ok(failed(result.reason), String(result.reason))
        }
        await first.removeUser(fresh('user'))
        await first.unsubscribe(fresh())
      }
      // after the disconnect calls fail without waiting for a reply, which would take 2 s each time
      for (let i = 0; i < 20; i++)
        await assert.rejects(inTime(publisher.publish(offered[i % guids.length])), unavailable)

      await Promise.all(servers.nodes.map((node) => node.restart()))
      await waitFor(() => Promise.all(offered.map((entries) => publisher.publish(entries))), {
        timeout: 20_000,
        message: 'publish to work again'
      })
      await reconnected(guids, before)
      // the data is lost: other epochs, and each entry is there once despite the retries
      const ends = await waitFor(() => first.positions(guids), { message: 'positions' })
      ends.forEach((end, i) => {
        assert.equal(end?.offset, 1)
        assert.notEqual(end?.epoch, starts[i]?.epoch)
      })
      // a subscriber that reached the new server before its commands did connects again: a record is missing only if
      // that is announced
      for (const guid of guids) {
        const isThere = () => texts(of(one, guid)).includes('live')
        while (!isThere()) {
          const announced = one.reconnects.length
          await publisher.publish([entry(guid, 'live')])
          await waitFor(() => isThere() || one.reconnects.slice(announced).flat().includes(guid), {
            message: 'live delivery after the restart, or another interruption that is announced'
          })
        }
      }

      // users are registered again, on their workers only
      await waitFor(async () => {
        await publisher.publish([{ publication: publication({ operator: 'user', uid }) }])
        return one.directs.some((direct) => direct.uid === uid)
      }, { timeout: 10_000, message: 'the user to be registered again' })
      assert.ok(!two.directs.some((direct) => direct.uid === uid))
    })

    test('while Redis hangs all calls fail in time, and retried entries are there once', async () => {
      const { first, publisher, one } = fixture.pair
      const guids = await subscribed()
      const offered = guids.map((guid, i) => [{ ...entry(guid, i), origin: { source: 't/1', sequence: i } }])
      for (const node of servers.nodes) await node.kill('SIGSTOP')
      try {
        const results = await inTime(
          Promise.allSettled([
            ...offered.map((entries) => publisher.publish(entries)),
            first.subscribe(fresh()),
            first.positions(guids)
          ])
        )
        // commands may still be executed: `unavailable` would mean that they were not
        const codes = results.map((result) => result.status === 'rejected' ? result.reason.code : result.status)
        assert.deepEqual(codes, [...offered.map(() => 'timeout'), 'unavailable', 'unavailable'])
        await assert.rejects(inTime(publisher.publish(offered[0])), failed)
      } finally {
        for (const node of servers.nodes) await node.kill('SIGCONT')
      }
      await waitFor(() => Promise.all(offered.map((entries) => publisher.publish(entries))), {
        timeout: 20_000,
        message: 'publish to work again'
      })
      const ends = await waitFor(() => first.positions(guids), { timeout: 20_000, message: 'positions' })
      assert.deepEqual(ends.map((end) => end?.offset), guids.map(() => 1))
      await waitFor(async () => {
        await Promise.all(guids.map((guid) => publisher.publish([entry(guid, 'live', { ephemeral: true })])))
        return guids.every((guid) => texts(of(one, guid)).includes('live'))
      }, { timeout: 20_000, message: 'live delivery' })
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemRandom } from '../../src/base/common/random.js'
import { systemClock } from '../../src/base/common/clock.js'
import { createLog } from '../../src/base/common/log.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createOrphans } from '../../src/documents/receipts/orphans.js'
import { createReceiptParts } from '../../src/documents/receipts/redis-receipts.js'
import { createKeys } from '../../src/redis/keys.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { fresh } from './bus-fixture.js'

const { receiptParts, workerReceipts } = createKeys()

for (const [name, url] of BACKENDS) {
  describe(`parts of receipts in ${name}`, () => {
    /** @type {ReturnType<typeof testRedis>} */
    let redis
    /** @type {import('../../src/documents/receipts/redis-receipts.js').ReceiptParts[]} */
    let workers
    const started = Date.now()
    before(async () => {
      redis = testRedis({
        urls: url().split(','),
        name: 'test',
        log: createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
      })
      await redis.start()
      workers = [7, 8, 4095].map((workerNumber) =>
        createReceiptParts({ redis, workerNumber, incarnation: () => `${workerNumber}.${started}`, timeout: 10_000 })
      )
    })
    after(() => redis?.stop())
    const part = (/** @type {number} */ delivered) => ({
      delivered,
      unasked: 0,
      latencies: { 14: delivered },
      missing: [['ünï', 'sid']]
    })
    const announce = (/** @type {number} */ i, /** @type {string} */ id, /** @type {number} */ delivered) => {
      const about = { guid: 'g', event: 'message', traceId: id }
      return workers[i].announce(id, { about, delivered, unasked: 0, shared: true }, workers[i].holder())
    }
    const exists = (/** @type {string} */ id) => redis.client.exists(receiptParts(id))

    test('are returned once, complete, to the last worker that reports', async () => {
      const id = fresh()
      await Promise.all(workers.map((_, i) => announce(i, id, i + 1)))
      assert.deepEqual(await workers[1].report(id, part(2), true), [])
      assert.deepEqual(await workers[0].report(id, part(1), true), [])
      const all = await workers[2].report(id, part(3), true)
      assert.deepEqual(
        all.sort((one, other) => one.delivered - other.delivered),
        [part(1), part(2), part(3)]
      )
      assert.equal(await exists(id), 0)
      for (const worker of workers) assert.deepEqual(await worker.close(id), [])
    })

    test('of a worker that never reports are its announced number, for the first worker that closes', async () => {
      const id = fresh()
      await announce(0, id, 1)
      await announce(1, id, 20)
      assert.deepEqual(await workers[0].report(id, part(1), true), [])
      const closed = await Promise.all([workers[0].close(id), workers[2].close(id)])
      assert.deepEqual(closed.map((all) => all.length).sort(), [0, 2])
      assert.deepEqual(closed.flat().find((one) => typeof one === 'number'), 20)
      // a slow worker: its announced number was counted
      assert.deepEqual(await workers[1].report(id, part(20), true), [])
      assert.equal(await exists(id), 0)
    })

    test('are returned again to the worker that did not get the answer, once, and to no other', async () => {
      let lost = 0
      const unlucky = createReceiptParts({
        redis: {
          ...redis,
          scripts: {
            ...redis.scripts,
            async receipt (keys, args) {
              const answer = await redis.scripts.receipt(keys, args)
              if (lost-- > 0) throw new Error('the connection was lost')
              return answer
            }
          }
        },
        workerNumber: 8, incarnation: () => `8.${started}`, timeout: 10_000
      })
      const last = fresh('last')
      for (const i of [0, 1]) await announce(i, last, i + 1)
      assert.deepEqual(await workers[0].report(last, part(1), true), [])
      lost = 1
      await assert.rejects(unlucky.report(last, part(2), true))
      assert.deepEqual(await workers[0].close(last), [])
      assert.deepEqual((await unlucky.report(last, part(2), true)).length, 2)
      assert.deepEqual(await unlucky.report(last, part(2), true), [])

      const closed = fresh('closed')
      for (const i of [0, 1]) await announce(i, closed, i + 1)
      assert.deepEqual(await unlucky.report(closed, part(2), true), [])
      lost = 1
      await assert.rejects(unlucky.close(closed))
      assert.deepEqual(await workers[0].close(closed), [])
      assert.deepEqual((await unlucky.close(closed)).length, 2)
      assert.deepEqual(await unlucky.close(closed), [])
    })

    test('of a worker that could not announce itself count as well', async () => {
      const id = fresh()
      await announce(0, id, 1)
      assert.deepEqual(await workers[1].report(id, part(2), false), [])
      assert.deepEqual((await workers[0].report(id, part(1), true)).length, 2)
      assert.deepEqual(await workers[2].report(id, part(3), false), [part(3)], 'too late: alone')
    })

    test('of ended workers are closed for them, once, also if both end', async () => {
      /** @type {import('../../src/log/publish/uplink.js').UplinkRecord[]} */
      const sent = []
      const close = createOrphans({
        redis,
        uplink: { async send (record) { sent.push(record) } },
        timeout: 10_000,
        metrics: createMetrics({ processMetrics: false }),
        log: recordingLog().log,
        clock: systemClock,
        random: systemRandom
      })
      const end = (/** @type {number} */ number) => close(number, started, new AbortController().signal)
      const ids = [fresh('alone'), fresh('with a live one'), fresh('with another one'), fresh('closed'), '2147000000']
      await announce(0, ids[0], 5)
      await announce(0, ids[1], 6)
      await announce(2, ids[1], 1)
      await announce(0, ids[2], 7)
      await announce(1, ids[2], 8)
      await announce(0, ids[3], 9)
      await workers[0].report(ids[3], part(9), true)
      await workers[0].settled(ids[3], workers[0].holder())
      const about = { sid: 's', event: 'message', traceId: ids[4] }
      await workers[0].announce(ids[4], { about, delivered: 1, unasked: 0, shared: false }, workers[0].holder())
      await Promise.all([end(7), end(7)])
      for (const number of [7, 8]) await end(number)
      assert.deepEqual(
        sent.map(({ operator, traceId, value }) => [operator, traceId, JSON.parse(value.toString()).more]).sort(),
        [['receipt', ids[0], 5], ['receipt', ids[2], 15], ['receipt', ids[4], 1]].sort()
      )
      const parts = await workers[2].report(ids[1], part(1), true)
      assert.deepEqual(parts.map(({ delivered }) => delivered).sort(), [1, 6])
      for (const number of [7, 8]) assert.equal(await redis.client.exists(workerReceipts(`${number}.${started}`)), 0)
    })

    test('expire if no worker closes them', async () => {
      const id = fresh()
      await announce(0, id, 1)
      const seconds = await redis.client.ttl(receiptParts(id))
      assert.ok(seconds > 60 && seconds <= 70, `${seconds} s`)
    })
  })
}

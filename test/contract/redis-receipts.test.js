import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createReceiptParts } from '../../src/receipts/redis-receipts.js'
import { createLog } from '../../src/common/log.js'
import { createRedis } from '../../src/redis/client.js'
import { receiptParts } from '../../src/redis/keys.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { fresh } from './bus-fixture.js'

for (const [name, url] of /** @type {[string, () => string][]} */ ([
  ['redis', redisUrl],
  ['redis cluster', redisClusterUrl]
])) {
  describe(`parts of receipts in ${name}`, () => {
    /** @type {ReturnType<typeof createRedis>} */
    let redis
    /** @type {import('../../src/receipts/redis-receipts.js').ReceiptParts[]} */
    let workers
    before(async () => {
      redis = createRedis({
        urls: url().split(','),
        name: 'test',
        log: createLog({ level: 'silent', pretty: false, role: 'test' })
      })
      await redis.start()
      workers = [7, 8, 4095].map((workerNumber) => createReceiptParts({ redis, workerNumber, timeout: 10_000 }))
    })
    after(() => redis?.stop())
    const part = (/** @type {number} */ delivered) => ({
      delivered,
      unasked: 0,
      latencies: { 14: delivered },
      missing: [['ünï', 'sid']]
    })
    const exists = (/** @type {string} */ id) => redis.client.exists(receiptParts(id))

    test('are returned once, complete, to the last worker that reports', async () => {
      const id = fresh()
      await Promise.all(workers.map((worker, i) => worker.announce(id, i + 1)))
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
      await workers[0].announce(id, 1)
      await workers[1].announce(id, 20)
      assert.deepEqual(await workers[0].report(id, part(1), true), [])
      const closed = await Promise.all([workers[0].close(id), workers[2].close(id)])
      assert.deepEqual(closed.map((all) => all.length).sort(), [0, 2])
      assert.deepEqual(
        closed.flat().find((one) => typeof one === 'number'),
        20
      )
      // a slow worker: its announced number was counted
      assert.deepEqual(await workers[1].report(id, part(20), true), [])
      assert.equal(await exists(id), 0)
    })

    test('of a worker that could not announce itself count as well', async () => {
      const id = fresh()
      await workers[0].announce(id, 1)
      assert.deepEqual(await workers[1].report(id, part(2), false), [])
      assert.deepEqual((await workers[0].report(id, part(1), true)).length, 2)
      assert.deepEqual(await workers[2].report(id, part(3), false), [part(3)], 'too late: alone')
    })

    test('expire if no worker closes them', async () => {
      const id = fresh()
      await workers[0].announce(id, 1)
      const seconds = await redis.client.ttl(receiptParts(id))
      assert.ok(seconds > 60 && seconds <= 70, `${seconds} s`)
    })
  })
}

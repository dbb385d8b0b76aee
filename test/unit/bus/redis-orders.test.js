import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { createKeptOrders } from '../../../src/bus/redis-orders.js'
import { systemClock } from '../../../src/common/clock.js'
import { createMetrics } from '../../../src/metrics/metrics.js'

// another process may have the number
test('a process whose lease has ended carries an order out, and does not report it', async () => {
  for (const isOwner of [true, false]) {
    /** @type {any[]} */
    const reported = []
    const kept = createKeptOrders({
      redis: /** @type {any} */ ({
        scripts: { carried: async (/** @type {any} */ _, /** @type {any} */ args) => reported.push(args.slice(0, 2)) }
      }),
      workerNumber: 1, onMessage: () => {}, isOwner: () => isOwner,
      metrics: createMetrics({ processMetrics: false }), clock: systemClock
    })
    let carriedOut = 0
    const order = { publication: { operator: 'kick', uid: 'ada' }, ingestedAt: 1, orderId: 'one' }
    kept.receive(/** @type {any} */ (order), () => ++carriedOut)
    await endOfTurn()
    assert.equal(carriedOut, 1)
    assert.deepEqual(reported, isOwner ? [['one', 1]] : [])
  }
})

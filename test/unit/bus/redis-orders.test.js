import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { createOrderPublish, KeptOrders } from '../../../src/log/bus/redis-orders.js'
import { decodeDirect, encodeDirect } from '../../../src/log/bus/redis-payload.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createKeys } from '../../../src/redis/keys.js'
import { encodeEnvelope } from '../../../src/wire/envelope.js'
import { publicationWith } from '../../helpers/publication.js'
import { storeRedis } from '../../helpers/store-redis.js'
import { waitFor } from '../../helpers/wait.js'

const { workerOrders } = createKeys()

// another process may have the number
test('a process whose lease has ended carries an order out, and does not report it', async () => {
  for (const isOwner of [true, false]) {
    /** @type {any[]} */
    const reported = []
    const kept = new KeptOrders({
      redis: /** @type {any} */ ({
        keys: createKeys(),
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

test('orders missed live are carried out once and reported; unreadable ones and those of earlier processes are dropped', async (t) => {
  const { redis } = await storeRedis(t)
  const { client } = redis
  const metrics = createMetrics({ processMetrics: false })
  const key = workerOrders(1)
  const keep = (/** @type {string} */ id) => {
    const kick = publicationWith({ operator: 'kick', guid: undefined, uid: id })
    return client.hset(key, id, encodeDirect([encodeEnvelope(kick, 1, systemRandom, id)]))
  }
  /** @type {string[]} */
  const carriedOut = []
  const kept = new KeptOrders({
    redis, workerNumber: 1, metrics, clock: systemClock,
    onMessage (message) {
      if (message.length < 10) return
      for (const order of decodeDirect(message)) kept.receive(order, () => carriedOut.push(`${order.publication.uid}`))
    }
  })
  await keep('earlier')
  await kept.begin()
  await keep('one')
  await client.hset(key, 'unreadable', 'x')
  await kept.read()
  await waitFor(async () => await client.hlen(key) === 0, { message: 'they are reported or dropped' })
  await keep('one')
  await kept.read()
  assert.deepEqual(carriedOut, ['one'])
  assert.equal((await metrics.kept_orders.get()).values[0].value, 1)
})

test('a worker that has a lease and does not listen yet is notified again, after a pause', async () => {
  /** @type {string[]} */
  const calls = []
  const publish = createOrderPublish({
    redis: /** @type {any} */ ({
      client: { hkeys: async () => ['1'] },
      keys: createKeys(),
      scripts: {
        tell: async (/** @type {any} */ _, /** @type {any[]} */ [, , , , first]) => {
          calls.push(`tell ${first}`)
          return calls.length > 2 ? 1 : 0
        },
        leased: async () => 1,
        outcome: async () => 3
      }
    }),
    registry: { assertComplete: async () => {} },
    clock: { ...systemClock, sleep: async () => { calls.push('sleep') } },
    random: systemRandom
  })
  const carriedOut = await publish({ publication: publicationWith({ operator: 'close' }) }, 1, /** @type {any} */ (undefined))
  assert.deepEqual(carriedOut, { connections: 3, workers: 1 })
  assert.deepEqual(calls, ['tell 1', 'sleep', 'tell ', 'sleep'])
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { UserRoutes } from '../../../src/log/bus/redis-user-routes.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { hashSlot } from '../../../src/redis/hash-slot.js'
import { createKeys } from '../../../src/redis/keys.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'

const { userOrders, userWorkers } = createKeys()

/**
 * User routes over a Redis that records calls.
 * @param {{
 *   isCluster?: boolean, failing?: boolean, ordered?: [number, ...string[]][], isOwner?: () => boolean
 *   clock?: import('../../../src/base/common/clock.js').Clock
 * }} [options]
 */
function fixture ({ isCluster = false, failing = false, ordered = [], isOwner, clock = systemClock } = {}) {
  /** @type {[string, import('../../../src/log/bus/orders.js').Order[]][]} */
  const told = []
  /** @type {{ keys: string[], ops: string }[]} */
  const calls = []
  const redisState = { failing, isLost: (/** @type {string} */ _key) => false }
  const scripts = {
    users: async (/** @type {string[]} */ keys, /** @type {[number, number, string]} */ [, , ops]) => {
      calls.push({ keys: [...keys], ops })
      if (redisState.failing || keys.some(redisState.isLost)) throw new Error('away')
      return ordered
    }
  }
  const redis = /** @type {import('../../../src/redis/client.js').RedisConnection} */ (
    /** @type {unknown} */ ({ isCluster, ready: true, scripts, keys: createKeys() })
  )
  return {
    calls,
    redisState,
    told,
    users: new UserRoutes({
      redis,
      metrics: createMetrics({ processMetrics: false }),
      workerNumber: 7,
      isOwner,
      onOrders: (uid, orders) => { told.push([uid, orders]) },
      clock
    })
  }
}

describe('users of a worker in Redis', () => {
  test('a single user is sent in the same turn of the event loop', async () => {
    const { calls, users } = fixture()
    const added = users.add('ada')
    await endOfTurn()
    assert.deepEqual(calls, [{ keys: [userWorkers('ada'), userOrders('ada')], ops: '+' }])
    await added
  })

  test('users in a storm share calls of at most 200 each, and are all sent in order', async () => {
    const { calls, users } = fixture()
    await users.add('first')
    const changes = []
    for (let i = 0; i < 500; i++) {
      changes.push(users.add(`user-${i}`))
      if (i % 5 === 0) changes.push(users.remove(`user-${i}`), users.add(`user-${i}`))
      if (i % 50 === 0) await endOfTurn()
    }
    await Promise.all(changes)
    assert.ok(calls.length <= 20, `${calls.length} calls`)
    assert.ok(calls.every(({ keys, ops }) => ops.length <= 200 && keys.length === 2 * ops.length))
    const sent = calls.flatMap(({ keys, ops }) => [...ops].map((op, i) => op + keys[2 * i]))
    const expected = [`+${userWorkers('first')}`]
    for (let i = 0; i < 500; i++)
      for (const op of i % 5 === 0 ? '+-+' : '+') expected.push(op + userWorkers(`user-${i}`))
    assert.deepEqual(sent, expected)
  })

  test('in a cluster share a call only within a hash slot', async () => {
    const { calls, users } = fixture({ isCluster: true })
    await Promise.all(['ada', 'bob'].map((uid) => users.add(uid)))
    assert.deepEqual(
      calls.map(({ keys }) => keys),
      [
        [userWorkers('ada'), userOrders('ada')],
        [userWorkers('bob'), userOrders('bob')]
      ]
    )
  })

  test('get orders from before their arrival', async () => {
    const { told, users } = fixture({ ordered: [[1, 'k', '1700000000000', 'rdoc', '1700000000001']] })
    const added = ['ada', 'bob'].map((uid) => users.add(uid))
    await added[1]
    assert.deepEqual(told, [['bob', [['k', 1_700_000_000_000], ['rdoc', 1_700_000_000_001]]]])
  })

  test('that cannot be sent are rejected, and not renewed', async () => {
    const time = manualClock()
    const { calls, users } = fixture({ failing: true, clock: { ...systemClock, every: time.every } })
    const results = await Promise.allSettled(['ada', 'bob'].map((uid) => users.add(uid)))
    assert.deepEqual(results.map(({ status }) => status), ['rejected', 'rejected'])
    assert.equal(calls.length, 1)
    users.start()
    users.lost()
    time.advance(1000)
    await waitFor(() => calls.length === 2)
    assert.equal(calls[1].ops, '--', 'Redis may have executed the call')
    users.stop()
    assert.equal(time.timers, 0)
  })

  // the number, and with it the registration, may be of another process
  test('are not removed by a process whose lease has ended', async (t) => {
    const time = manualClock()
    let isOwner = true
    const { calls, users } = fixture({ clock: { ...systemClock, every: time.every }, isOwner: () => isOwner })
    t.after(() => users.stop())
    await users.add('ada')
    isOwner = false
    await users.remove('ada')
    users.start()
    time.advance(5000)
    await endOfTurn()
    assert.deepEqual(calls.map(({ ops }) => ops), ['+'])
    isOwner = true
    time.advance(1000)
    await waitFor(() => calls.length === 2)
    assert.equal(calls[1].ops, '-')
  })

  test('are removed again until Redis has confirmed it, unless they are back', async (t) => {
    const time = manualClock()
    const { calls, users, redisState } = fixture({ clock: { ...systemClock, every: time.every } })
    await Promise.all(['ada', 'bob', 'eve'].map((uid) => users.add(uid)))
    redisState.failing = true
    const gone = ['ada', 'bob', 'eve'].map((uid) => users.remove(uid))
    assert.deepEqual((await Promise.allSettled(gone)).map(({ status }) => status), ['rejected', 'rejected', 'rejected'])
    users.start()
    t.after(() => users.stop())
    const sent = () => calls.splice(0).flatMap(({ keys, ops }) => [...ops].map((op, i) => op + keys[2 * i]))
    const removed = (/** @type {string[]} */ uids) => uids.map((uid) => `-${userWorkers(uid)}`)
    sent()
    time.advance(1000)
    await waitFor(() => calls.length > 0)
    assert.deepEqual(sent(), removed(['ada', 'bob', 'eve']))
    redisState.failing = false
    await users.add('bob')
    sent()
    time.advance(1000)
    await waitFor(() => calls.length > 0)
    assert.deepEqual(sent(), removed(['ada', 'eve']))
    time.advance(1000)
    await users.remove('bob')
    assert.deepEqual(sent(), removed(['bob']), 'nothing else is sent before it')
  })
  test('on a shard that does not respond delay no others, and are registered again when it responds', async (t) => {
    const time = manualClock()
    const { calls, users, redisState } = fixture({ isCluster: true, clock: time })
    users.start()
    t.after(() => users.stop())
    const onFirstShard = (/** @type {string} */ key) => hashSlot(key) < 5461
    const uids = Array.from({ length: 6600 }, (_, i) => `user-${i}`)
    const isDead = (/** @type {string} */ uid) => onFirstShard(userWorkers(uid))
    // as many as one round renews, and the oldest ones
    const dead = uids.filter(isDead).slice(0, 2100)
    const others = uids.filter((uid) => !isDead(uid)).slice(0, 100)
    const added = Promise.all([...dead, ...others].map((uid) => users.add(uid)))
    await time.pass(100)
    await added
    const registered = () => {
      const keys = new Set(calls.splice(0).flatMap(({ keys }) => keys))
      return uids.filter((uid) => keys.has(userWorkers(uid)))
    }
    registered()
    redisState.isLost = onFirstShard
    let over = false
    users.lost().then(() => { over = true })
    await time.pass(2000)
    assert.deepEqual(registered().filter((uid) => !isDead(uid)), others)
    assert.equal(over, false)
    redisState.isLost = () => false
    await time.pass(3000)
    assert.equal(over, true)
    assert.deepEqual(registered(), dead)
    await time.pass(60_000)
    assert.deepEqual(calls, [], 'none is due')
  })
})

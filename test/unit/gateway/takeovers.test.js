import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { RedisDevices } from '../../../src/people/devices/redis-devices.js'
import { Directory } from '../../../src/gateway/directory.js'
import { createClientSessions } from '../../../src/gateway/client-sessions.js'
import { Takeovers } from '../../../src/gateway/takeovers.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { storeRedis } from '../../helpers/store-redis.js'

/** Longer than the interval of renewals, ms. */
const RENEWED = 5 * 60_000 + 2000

/**
 * Workers over one store. Orders arrive at once, except while `loses` or `refuses` is set.
 * @param {import('node:test').TestContext} t
 */
async function cluster (t) {
  const clock = manualClock()
  const { redis } = await storeRedis(t)
  const state = {
    loses: false, refuses: false, fails: false, claimLater: Promise.resolve(), renewLater: Promise.resolve(),
    replaced: 0, orders: 0,
    /** @param {string} _uid of a shard that does not respond */
    isLost: (_uid) => false
  }
  /** @type {Directory[]} */
  const directories = []
  /** @type {Takeovers[]} */
  const all = []
  const metrics = /** @type {any} */ ({
    bus_errors: { inc () {} }, connections_replaced: { inc () { state.replaced++ } }
  })
  const bus = {
    /** @param {any[]} entries */
    async publish ([{ publication: { operator, sid, from } }]) {
      state.orders++
      assert.deepEqual([operator, typeof from], ['kick', 'string'])
      if (state.refuses) throw new Error('no Redis')
      if (!state.loses) for (const directory of directories) directory.connection(sid)?.disconnect('replaced')
      return []
    }
  }

  /** A worker. @param {number} workerNumber */
  function worker (workerNumber) {
    const directory = new Directory()
    directories.push(directory)
    const devices = new RedisDevices({ redis, clock: /** @type {any} */ ({ soon: setImmediate }) })
    const takeovers = new Takeovers(/** @type {any} */ ({ metrics, clock, random: systemRandom }), {
      devices: {
        ready: true,
        claim: async (...args) => {
          if (state.fails || state.isLost(args[0])) throw new Error('no Redis')
          await state.claimLater
          return devices.claim(...args)
        },
        renew: async (...args) => {
          if (state.isLost(args[0])) throw new Error('no Redis')
          await state.renewLater
          return devices.renew(...args)
        },
        end: (...args) => devices.end(...args)
      },
      bus, directory, workerNumber
    })
    all.push(takeovers)
    takeovers.start()
    t.after(() => takeovers.stop())
    const newId = createSessionIds(workerNumber, { clock, random: systemRandom })
    /** @param {string} uid @param {string | undefined} client @param {boolean} [exclusive] */
    return (uid, client, exclusive = true) => {
      const connection = /** @type {any} */ ({
        id: newId(), uid, client, exclusive, open: true, code: undefined, claimedAt: 0,
        /** @param {string} code */
        disconnect (code) {
          assert.equal(connection.open, true, 'it ends once')
          connection.code = code
          connection.close()
        },
        close () {
          connection.open = false
          directory.remove(connection)
          takeovers.disconnected(connection)
        }
      })
      directory.add(connection)
      takeovers.connected(connection)
      return connection
    }
  }
  const settled = async () => { for (let i = 0; i < 20; i++) await new Promise((resolve) => { setImmediate(resolve) }) }
  /** Redis has lost its data. */
  const lost = () => { for (const takeovers of all) takeovers.lost() }
  const device = (/** @type {string} */ uid = randomUUID()) => /** @type {const} */ ([uid, 'board'])
  return { clock, redis, state, worker, lost, settled, device }
}

test('a connection ends when its client connects again, on its worker or another one, and no other does', async (t) => {
  const { worker, settled, device } = await cluster(t)
  const [one, two] = [worker(1), worker(2)]
  const mine = device()
  const others = [one(...device()), one(mine[0], 'phone'), one(mine[0], undefined), two(mine[0], mine[1], false)]
  for (const connect of [one, one, two, one]) {
    const before = connect(...mine)
    await settled()
    const after = two(...mine)
    await settled()
    assert.deepEqual([before.code, after.code], ['replaced', undefined])
    after.close()
    await settled()
  }
  assert.deepEqual(others.map(({ code }) => code), [undefined, undefined, undefined, undefined])
})

test('of connections that come at the same time one stays', async (t) => {
  const { worker, settled, device } = await cluster(t)
  const workers = [worker(1), worker(2), worker(3)]
  for (let round = 0; round < 30; round++) {
    const mine = device()
    const connections = Array.from({ length: 2 + round % 5 }, (_, i) => workers[(round * i) % 3](...mine))
    await settled()
    assert.equal(connections.filter(({ open }) => open).length, 1, `round ${round}`)
    assert.equal(workers[round % 3](...mine).open, true)
  }
})

test('a connection whose order was lost finds the later one when it renews its claim', async (t) => {
  const { clock, state, worker, settled, device } = await cluster(t)
  const [one, two] = [worker(1), worker(2)]
  const mine = device()
  const old = one(...mine)
  await settled()
  state.loses = true
  const next = two(...mine)
  await settled()
  assert.equal(old.open, true)
  await clock.pass(RENEWED)
  await settled()
  assert.deepEqual([old.code, next.code, state.replaced], ['replaced', undefined, 1])
})

test('an order that Redis did not take is sent again, each second until Redis takes it', async (t) => {
  const { clock, state, worker, settled, device } = await cluster(t)
  const [one, two] = [worker(1), worker(2)]
  const mine = device()
  const old = one(...mine)
  await settled()
  state.refuses = true
  const next = two(...mine)
  await settled()
  await clock.pass(2000)
  await settled()
  assert.deepEqual([old.open, state.orders], [true, 3])
  state.refuses = false
  await clock.pass(1000)
  await settled()
  assert.deepEqual([old.code, next.open, state.orders], ['replaced', true, 4])
})

test('a claim that fails is repeated, and one that Redis has lost is written again, unless a later one is there', async (t) => {
  const { clock, redis, state, worker, settled, device } = await cluster(t)
  const [one, two] = [worker(1), worker(2)]
  const mine = device()
  const old = one(...mine)
  await settled()
  state.fails = true
  const next = two(...mine)
  await settled()
  assert.equal(old.open, true)
  state.fails = false
  await clock.pass(1001)
  await settled()
  assert.deepEqual([old.code, next.open], ['replaced', true])
  await redis.client.del(redis.keys.userDevice(...mine))
  await clock.pass(RENEWED)
  await settled()
  assert.equal(next.open, true)
  const last = one(...mine)
  await settled()
  assert.deepEqual([next.code, last.open], ['replaced', true])
})

for (const [what, areClaimed] of /** @type {const} */ ([['claims', false], ['renewals', true]])) {
  test(`${what} on a shard that does not respond delay no others, and are repeated until it responds`, async (t) => {
    const { clock, redis, state, worker, lost, settled, device } = await cluster(t)
    const [one, two] = [worker(1), worker(2)]
    const isDead = (/** @type {string} */ uid) => uid.startsWith('dead')
    if (!areClaimed) state.isLost = isDead
    // more than one round renews, and the oldest ones
    const dead = Array.from({ length: 2100 }, (_, i) => one(...device(`dead-${i}`)))
    const mine = device()
    const old = one(...mine)
    await settled()
    assert.equal(dead.filter(({ claimedAt }) => claimedAt > 0).length, areClaimed ? dead.length : 0)
    state.isLost = isDead
    state.loses = true
    const next = two(...mine)
    const pass = async (/** @type {number} */ seconds) => {
      for (let i = 0; i < seconds; i++) {
        await clock.pass(1000)
        await settled()
      }
    }
    await pass(2)
    lost()
    await pass(2)
    assert.deepEqual([old.code, next.code, dead.every(({ open }) => open)], ['replaced', undefined, true])
    state.isLost = () => false
    await redis.client.flushall()
    lost()
    await pass(3)
    const written = dead.map(({ uid, client }) => redis.client.get(redis.keys.userDevice(uid, client)))
    assert.deepEqual((await Promise.all(written)).map((value) => value?.split(' ')[1]), dead.map(({ id }) => id))
  })
}

test('a connection claims its device again within a second if the claim of one that ended before comes after its own', async (t) => {
  const { clock, state, worker, settled, device } = await cluster(t)
  const one = worker(1)
  const mine = device()
  let send = () => {}
  state.claimLater = new Promise((resolve) => { send = () => resolve(undefined) })
  one(...mine).close()
  state.claimLater = Promise.resolve()
  const next = one(...mine)
  await settled()
  assert.ok(next.claimedAt > 0)
  send()
  await settled()
  assert.equal(next.claimedAt, 0)
  await clock.pass(1000)
  await settled()
  assert.deepEqual([next.open, next.claimedAt > 0], [true, true])
})

test('a connection whose claim is undone while it is in progress claims its device again when it has ended', async (t) => {
  const { clock, state, worker, settled, device } = await cluster(t)
  const [one, two] = [worker(1), worker(2)]
  const mine = device()
  let [claim, renew] = [() => {}, () => {}]
  state.loses = true
  two(...mine)
  await settled()
  state.claimLater = new Promise((resolve) => { claim = () => resolve(undefined) })
  one(...mine).close()
  state.claimLater = Promise.resolve()
  state.renewLater = new Promise((resolve) => { renew = () => resolve(undefined) })
  const next = one(...mine)
  await settled()
  assert.ok(next.claimedAt > 0)
  claim()
  await settled()
  assert.equal(next.claimedAt, 0)
  await clock.pass(1000)
  renew()
  await settled()
  await clock.pass(1000)
  await settled()
  assert.deepEqual([next.open, next.claimedAt > 0], [true, true])
})

test('a device whose worker has died is claimed without it, and its end is known for an hour', async (t) => {
  const { redis, worker, settled, device } = await cluster(t)
  const mine = device()
  // a second ago: a claim in the same millisecond gets a later number than the time of its end
  await redis.client.set(redis.keys.userDevice(...mine), `${Date.now() - 1000} AJ${'x'.repeat(18)}`)
  const connection = worker(1)(...mine)
  await settled()
  assert.equal(connection.open, true)
  connection.close()
  await settled()
  const [at, sid, end] = String(await redis.client.get(redis.keys.userDevice(...mine))).split(' ')
  assert.deepEqual([sid, Number(end) >= Number(at)], [connection.id, true])
  assert.ok(await redis.client.ttl(redis.keys.userDevice(...mine)) > 3500)
})

test('sessions of clients that connect together end by one command, which is sent before their callers go on', async (t) => {
  const { redis, device } = await cluster(t)
  const sessions = createClientSessions(redis)
  const [one, two] = [device(), device()]
  for (const [uid, client] of [one, two])
    assert.equal(await sessions.write({ id: 'x', uid, client, claimedAt: 0 }, 'kept', 60), true)
  /** @type {string[][]} */
  const sent = []
  const unlink = redis.client.unlink.bind(redis.client)
  redis.client.unlink = /** @type {any} */ ((/** @type {string[]} */ ...keys) => {
    sent.push(keys)
    return unlink(...keys)
  })
  const find = async (/** @type {readonly [string, string]} */ [uid, client]) => { sessions.drop(uid, client) }
  await Promise.all([find(one), find(two)])
  assert.deepEqual(sent.map(({ length }) => length), [2])
  await sessions.drop(...one)
  assert.deepEqual(sent.map(({ length }) => length), [2, 1])
  assert.deepEqual([await sessions.read(...one), await sessions.read(...two)], [null, null])
})

test('a session is written by the connection that has the device, not by one that was replaced while its worker was paused',
  async (t) => {
    const { clock, redis, state, worker, settled, device } = await cluster(t)
    const [one, two] = [worker(1), worker(2)]
    const mine = device()
    const sessions = createClientSessions(redis)
    const kept = () => sessions.read(...mine)
    const old = one(...mine)
    await settled()
    assert.equal(await sessions.write(old, 'old', 60), true)
    await sessions.prolong(old, 3600)
    assert.ok(await redis.client.ttl(redis.keys.clientSession(...mine)) > 60, 'continued, it lasts longer')
    state.loses = true
    state.fails = true
    const next = two(...mine)
    await settled()
    assert.equal(await sessions.write(next, 'early', 60), false, 'it has no claim yet')
    state.fails = false
    await clock.pass(2000)
    await settled()
    assert.equal(await sessions.write(next, 'next', 60), true)
    assert.deepEqual([await sessions.write(old, 'old', 60), await sessions.remove(old)], [false, false])
    assert.equal(await kept(), 'next')
    // the same after the end of its successor, which has ended the session
    assert.equal(await sessions.remove(next), true)
    next.close()
    await settled()
    assert.equal(await sessions.write(old, 'old', 60), false)
    assert.equal(await kept(), null)
    // Redis may have lost claims
    await redis.client.del(redis.keys.userDevice(...mine))
    assert.equal(await sessions.write(old, 'old', 60), true)
  })

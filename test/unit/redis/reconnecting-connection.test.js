import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemRandom } from '../../../src/base/common/random.js'
import { ReconnectingConnection } from '../../../src/redis/reconnecting-connection.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { seededRandom } from '../../helpers/random.js'

const SCHEDULES = 300
const STEPS = 40

/** The part of an ioredis client that the connection uses; the test decides what happens to it. */
class FakeRedis extends EventEmitter {
  /** @type {'connecting' | 'preparing' | 'up' | 'leaving' | 'closed'} */
  phase = 'connecting'
  pings = 0

  get status () { return this.phase === 'up' ? 'ready' : this.phase }
  connect () { return this.#pending() }
  prepare () {
    this.phase = 'preparing'
    return this.#pending()
  }

  async ping () { this.pings++ }
  disconnect () { if (this.phase !== 'closed') this.phase = 'leaving' }

  /** @param {string} [error] the step in progress fails */
  answer (error) {
    if (error === undefined) this.settle?.resolve(undefined)
    else this.settle?.reject(new Error(error))
  }

  close () {
    this.phase = 'closed'
    this.settle?.reject(new Error('Connection is closed.'))
    this.emit('error', new Error('ended'))
    this.emit('close')
  }

  #pending () {
    return new Promise((resolve, reject) => { this.settle = { resolve, reject } })
  }
}

function setUp () {
  /** @type {FakeRedis[]} */
  const opened = []
  /** @type {string[]} */
  const calls = []
  /** @type {(() => void)[]} ends of the pauses between attempts */
  const pauses = []
  const world = { hasServer: true }
  const clock = manualClock()
  const connection = new ReconnectingConnection({
    open () {
      calls.push('open')
      if (!world.hasServer) return undefined
      const redis = new FakeRedis()
      opened.push(redis)
      return /** @type {any} */ (redis)
    },
    prepare: (redis) => /** @type {any} */ (redis).prepare(),
    onUp: (redis, again) => {
      /** @type {any} */ (redis).phase = 'up'
      calls.push(again ? 'again' : 'up')
    },
    onDown: () => { calls.push('down') },
    onFailed: () => { calls.push('failed') }
  }, {
    random: systemRandom,
    clock: {
      ...clock,
      sleep: (_, signal) => new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        pauses.push(() => resolve())
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    }
  })
  return { connection, opened, calls, pauses, world, clock }
}

test('it is up when it is connected and prepared, and comes back after a loss', async () => {
  const { connection, opened, calls, pauses } = setUp()
  const first = connection.start()
  assert.equal(connection.state, 'connecting')
  opened[0].answer()
  await turn()
  assert.equal(connection.redis, undefined, 'not prepared')
  opened[0].answer()
  await first
  assert.equal(connection.state, 'up')
  assert.equal(/** @type {unknown} */ (connection.redis), opened[0])
  opened[0].close()
  assert.equal(connection.state, 'down')
  pauses[0]()
  await turn()
  for (let i = 0; i < 2; i++) {
    opened[1].answer()
    await turn()
  }
  assert.deepEqual(calls, ['open', 'up', 'down', 'open', 'again'])
  connection.stop()
})

test('it pings while it is up', async () => {
  const { connection, opened, clock } = setUp()
  const first = connection.start()
  const [redis] = opened
  clock.advance(5000)
  redis.answer()
  await turn()
  clock.advance(5000)
  assert.equal(redis.pings, 0, 'before it is up')
  redis.answer()
  await first
  for (let i = 1; i <= 3; i++) {
    clock.advance(5000)
    assert.equal(redis.pings, i)
  }
  connection.stop()
  clock.advance(5000)
  assert.equal(redis.pings, 3)
})

test(`${SCHEDULES} schedules: one connection at a time, each attempt ends once, and nothing happens after the stop`, async () => {
  /** @type {Set<string>} */
  const seen = new Set()
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const random = seededRandom(seed)
    const { connection, opened, calls, pauses, world } = setUp()
    world.hasServer = random() < 0.8
    const first = connection.start()
    for (let step = 0; step < STEPS; step++) {
      const redis = opened.at(-1)
      const what = Math.floor(random() * 7)
      if (what === 0) world.hasServer = random() < 0.8
      else if (what === 1) pauses.pop()?.()
      else if (what === 2) redis?.answer('NOPERM')
      else if (what === 3 && random() < 0.3) redis?.close()
      else if (what === 4 && random() < 0.3) connection.reconnect()
      else for (const one of opened) if (one.phase === 'leaving') one.close()
      if (what > 4) redis?.answer()
      await turn()
      seen.add(connection.state)
      const living = opened.filter(({ phase }) => phase !== 'closed' && phase !== 'leaving')
      assert.ok(living.length <= 1, `seed ${seed}: ${living.length} connections`)
      assert.equal(pauses.length, connection.state === 'down' ? 1 : 0, `seed ${seed}: pauses`)
      // not while it leaves: its commands would fail
      assert.equal(connection.redis !== undefined, connection.state === 'up' && redis?.phase === 'up', `seed ${seed}`)
    }
    const order = calls.join(' ')
    // an attempt: opened, perhaps up, then down; the last one may still last
    assert.match(`${order} `, /^(?:open (?:(?:up |again )?down |failed down ))*(?:open (?:up |again )?)?$/, `seed ${seed}`)
    assert.ok(order.split('up').length <= 2 && !/again.*up/.test(order), `seed ${seed}: ${order}`)
    // a pause that ends in the same turn as the stop
    if (random() < 0.5) pauses.pop()?.()
    connection.stop()
    for (const redis of opened) {
      assert.notEqual(redis.phase, 'up', `seed ${seed}: open after the stop`)
      redis.answer()
      redis.close()
    }
    for (const end of pauses) end()
    await first
    await turn()
    assert.equal(calls.join(' '), order, `seed ${seed}: after the stop`)
    assert.equal(connection.state, 'stopped')
    assert.equal(connection.redis, undefined)
  }
  assert.deepEqual([...seen].sort(), ['connecting', 'down', 'up'])
})

import '../../../simulation/world/patched-time.js'
import '../../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World } from '../../../simulation/world/world.js'
import { twoProcesses } from './two-processes.js'

describe('a process of a world', () => {
  test('does nothing more when it is killed: its timers, immediates, intervals and promises of time', async () => {
    const world = new World(1)
    const process = world.process('one', { name: 'm1', step: 0 })
    /** @type {string[]} */
    const ran = []
    process.enter('start', () => {
      setTimeout(() => ran.push('timeout'), 50)
      setInterval(() => ran.push('interval'), 20)
      process.clock.timer(50, () => ran.push('timer'))
      process.clock.every(20, () => ran.push('every'))
      process.clock.sleep(50).then(() => ran.push('sleep'))
      setTimeout(() => {
        setImmediate(() => ran.push('immediate'))
        process.clock.soon(() => ran.push('soon'))
        world.schedule(0, 'kill', () => process.end(null), null)
        ran.push('last')
      }, 45)
      process.enter('later', () => ran.push('enter'), 60)
    })
    world.schedule(45, 'never', () => {}, null)
    await world.run(44)
    assert.deepEqual(ran, ['interval', 'every', 'interval', 'every'])
    await world.run(45)
    // the kill is behind what was due at its moment
    assert.deepEqual(ran.slice(4), ['last', 'immediate', 'soon'])
    await world.run(1000)
    assert.deepEqual(ran.slice(7), [])
    assert.deepEqual(world.violations, [])
  })

  test('that dies in a turn leaves a part of the bytes that it wrote in it, the first ones, each length at times', async () => {
    const lengths = new Set()
    for (let seed = 1; seed <= 60; seed++) {
      const { world, client, got, connect } = twoProcesses(seed)
      /** @type {any} */
      let socket
      client.enter('open', () => { socket = connect() })
      await world.run(100)
      const share = world.random.number()
      client.killInTurn(share)
      client.enter('write', async () => {
        socket.write('ab')
        await null
        socket.write('cdef')
        process.nextTick(() => socket.write('gh'))
      })
      await world.run(200)
      assert.equal(client.isAlive, false)
      assert.equal(got.text, 'abcdefgh'.slice(0, Math.floor(share * 8)))
      lengths.add(got.text.length)
    }
    assert.deepEqual([...lengths].sort(), [0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('that ends itself has sent what it wrote before, and nothing that it writes afterwards', async () => {
    const { world, client, got, connect } = twoProcesses()
    /** @type {any} */
    let socket
    client.enter('open', () => { socket = connect() })
    await world.run(100)
    client.enter('write', async () => {
      socket.write('before')
      client.host.exit(0)
      socket.write('after')
      await null
      socket.write('later')
    })
    await world.run(200)
    assert.equal(got.text, 'before')
    assert.ok(got.ended || got.error === 'ECONNRESET')
  })

  test('that is stopped runs nothing until it continues, and then what became due in its order', async () => {
    const world = new World(1)
    const process = world.process('one', { name: 'm1', step: 0 })
    /** @type {number[]} */
    const ran = []
    /** @type {number[]} */
    const at = []
    process.enter('start', () => {
      for (let i = 0; i < 10; i++) setTimeout(() => {
        ran.push(i)
        at.push(world.time)
      }, 10 + i * 10)
    })
    world.schedule(35, 'stop', () => process.pause(40), null)
    await world.run(70)
    assert.deepEqual(ran, [0, 1, 2])
    await world.run(200)
    assert.deepEqual(ran, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.deepEqual(at.slice(2), [30, 75, 75, 75, 75, 80, 90, 100])
  })

  test('may still cancel what became due while it was stopped', async () => {
    const world = new World(1)
    const process = world.process('one', { name: 'm1', step: 0 })
    let hasRun = false
    process.enter('start', () => {
      setTimeout(() => clearTimeout(later), 10)
      const later = setTimeout(() => { hasRun = true }, 11)
    })
    world.schedule(5, 'stop', () => process.pause(100), null)
    await world.run(200)
    assert.equal(hasRun, false)
  })

  test('that is killed while it is stopped does nothing more, and an earlier end of a stop ends no later one', async () => {
    const world = new World(1)
    const [one, two] = ['one', 'two'].map((name) => world.process(name, { name: 'm1', step: 0 }))
    /** @type {string[]} */
    const ran = []
    for (const process of [one, two]) process.enter('start', () => { setTimeout(() => ran.push(process.name), 20) })
    world.schedule(10, 'stop', () => {
      one.pause(20)
      two.pause(20)
      two.resume()
      two.pause(50)
    }, null)
    world.schedule(25, 'kill', () => one.end(null), null)
    await world.run(50)
    assert.deepEqual(ran, [])
    await world.run(100)
    assert.deepEqual(ran, ['two'])
  })

  test('has a clock that only it uses, and a time of day that only its machine sets', async () => {
    const world = new World(1)
    const machine = { name: 'm1', step: 0 }
    const [one, two] = [world.process('one', machine), world.process('two', { name: 'm2', step: 0 })]
    let difference = 0
    one.enter('start', () => { one.clock.timer(1, () => {}) })
    two.enter('start', () => { one.clock.timer(1, () => {}) })
    world.schedule(10, 'step', () => { machine.step = -3_600_000 }, null)
    one.enter('look', () => {
      difference = world.wall - Date.now()
      assert.equal(one.clock.now(), Date.now())
      assert.equal(one.clock.monotonic(), performance.now())
    }, 20)
    two.enter('look', () => assert.equal(Math.floor(world.wall), Date.now()), 20)
    await world.run(30)
    assert.ok(Math.abs(difference - 3_600_000) < 1)
    assert.deepEqual(world.violations, ['0.0 ms: two uses the clock of one'])
  })

  test('whose code throws or forgets a rejected promise is a violation with its name', async (t) => {
    // the runner of tests would fail this one
    for (const name of ['uncaughtException', 'unhandledRejection']) {
      const listeners = process.listeners(/** @type {any} */ (name))
      process.removeAllListeners(name)
      t.after(() => { for (const listener of listeners) process.on(name, /** @type {any} */ (listener)) })
    }
    const world = new World(1)
    const one = world.process('one', { name: 'm1', step: 0 })
    one.enter('start', () => { throw new Error('thrown') })
    one.enter('start', () => { Promise.reject(new Error('rejected')) })
    one.enter('start', () => { one.clock.timer(5, () => { throw new Error('in a timer') }) })
    await world.run(30)
    assert.deepEqual(world.violations.map((text) => text.split('\n')[0]), [
      '0.0 ms: one: an exception that nothing catches: Error: thrown',
      '0.0 ms: one: an exception that nothing catches: Error: rejected',
      '5.0 ms: one: an exception that nothing catches: Error: in a timer'
    ])
  })
})

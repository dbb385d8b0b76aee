import '../../../simulation/world/patched-time.js'
import '../../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { observe, twoProcesses } from './two-processes.js'

const nothing = () => ({ text: '', ended: false, closed: false, error: '' })

describe('the network of a world', () => {
  test('delivers what a connection carries in its order, in turns of the receiver, later than it was written', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, server, client, accepted, got, connect } = twoProcesses(seed)
      /** @type {(string | undefined)[]} */
      const turns = []
      /** @type {number[]} */
      const delays = []
      client.enter('open', () => {
        const socket = connect()
        socket.on('connect', () => {
          for (let i = 0; i < 40; i++) client.clock.timer(1 + i * 0.01, () => { socket.write(`${i} ${world.time};`) })
        })
      })
      await world.run(1000, () => accepted.length > 0)
      accepted[0].on('data', (bytes) => {
        turns.push(world.current?.name)
        for (const [, at] of String(bytes).matchAll(/ ([\d.]+);/g)) delays.push(world.time - Number(at))
      })
      await world.run(1000)
      assert.deepEqual([...got.text.matchAll(/(\d+) /g)].map(([, i]) => Number(i)), Array.from({ length: 40 }, (_, i) => i))
      assert.deepEqual(new Set(turns), new Set([server.name]))
      assert.ok(delays.every((delay) => delay > 0), `${delays}`)
      assert.deepEqual(world.violations, [])
    }
  })

  test('refuses a connection to an address where nothing listens', async () => {
    const { world, client } = twoProcesses()
    const got = nothing()
    client.enter('open', () => observe(world.network.connect(client, 'm1:81'), got))
    await world.run(1000)
    assert.equal(got.error, 'ECONNREFUSED')
  })

  test('fails a connect that gets no answer after 20 s', async () => {
    const { world, client, accepted, connect } = twoProcesses()
    const got = nothing()
    world.network.block(() => true, 60_000)
    client.enter('open', () => observe(connect(), got))
    await world.run(19_000)
    assert.equal(got.error, '')
    await world.run(21_000)
    assert.equal(got.error, 'ETIMEDOUT')
    await world.run(70_000)
    assert.equal(accepted.length, 0)
  })

  test('ends each direction by itself, unless the end of one ends the other', async () => {
    const { world, client, accepted, got, connect } = twoProcesses()
    const atClient = nothing()
    client.enter('open', () => {
      const socket = world.network.connect(client, 'm1:80')
      observe(socket, atClient)
      socket.end('question')
    })
    await world.run(100)
    assert.deepEqual(got, { text: 'question', ended: true, closed: false, error: '' })
    world.processes.forEach((process) => process.name === 'server' && process.enter('answer', () => accepted[0].end('answer')))
    await world.run(200)
    assert.deepEqual(atClient, { text: 'answer', ended: true, closed: true, error: '' })
    assert.equal(got.closed, true)
    client.enter('open another one', () => { connect().destroy() })
    await world.run(300)
  })

  test('answers bytes for a connection that its owner has destroyed by a reset', async () => {
    const { world, server, client, accepted, connect } = twoProcesses()
    const atClient = nothing()
    /** @type {any} */
    let socket
    client.enter('open', () => observe(socket = connect(), atClient))
    await world.run(100)
    // the client does not see the end, and writes
    socket.pause()
    server.enter('destroy', () => accepted[0].destroy())
    client.enter('write', () => socket.write('too late'), 0.01)
    await world.run(200)
    assert.equal(atClient.error, 'ECONNRESET')
    assert.equal(accepted[0].destroyed, true)
  })

  test('answers bytes for a connection of a process that has ended by a reset', async () => {
    let resets = 0
    for (let seed = 1; seed <= 10; seed++) {
      const { world, server, client, connect } = twoProcesses(seed)
      const atClient = nothing()
      /** @type {any} */
      let socket
      client.enter('open', () => observe(socket = connect(), atClient))
      await world.run(100)
      socket.allowHalfOpen = true
      world.schedule(0, 'kill', () => server.end(null), null)
      await world.run(150)
      // a kernel ends the connections of a process, or resets them
      assert.ok(atClient.ended || atClient.error === 'ECONNRESET')
      if (atClient.error !== '') continue
      resets++
      client.enter('write', () => socket.write('too late'))
      await world.run(200)
      assert.equal(atClient.error, 'ECONNRESET')
    }
    assert.ok(resets > 0)
  })

  test('resets at the server what a client no longer wants when the answer comes', async () => {
    const { world, client, accepted, got, connect } = twoProcesses()
    client.enter('open', () => {
      const socket = connect()
      world.onTurnEnd(() => {
        if (accepted.length > 0 && socket.connecting && !socket.destroyed) client.end(null)
      })
    })
    await world.run(100)
    assert.equal(accepted.length, 1)
    assert.equal(got.error, 'ECONNRESET')
  })

  test('loses what is on its way when a connection is cut, and each end learns of it at its own time', async () => {
    const { world, client, accepted, got, connect } = twoProcesses()
    const atClient = nothing()
    /** @type {any} */
    let socket
    client.enter('open', () => observe(socket = connect(), atClient))
    await world.run(100)
    client.enter('write', () => {
      socket.write('lost')
      world.schedule(0, 'cut', () => world.network.cut(socket, { here: 50, there: 5000 }), null)
    })
    await world.run(140)
    assert.equal(atClient.error, '')
    await world.run(160)
    assert.equal(atClient.error, 'ECONNRESET')
    assert.equal(accepted[0].destroyed, false)
    await world.run(5200)
    assert.deepEqual(got, { text: '', ended: false, closed: true, error: 'ECONNRESET' })
  })

  test('leaves a half-open connection to an end that never learns of the cut', async () => {
    const { world, server, client, accepted, got, connect } = twoProcesses()
    /** @type {any} */
    let socket
    client.enter('open', () => observe(socket = connect(), nothing()))
    await world.run(100)
    world.network.cut(socket, { here: 0, there: Infinity })
    await world.run(200)
    server.enter('write', () => accepted[0].write('to no one'))
    await world.run(100_000)
    assert.equal(socket.destroyed, true)
    assert.deepEqual(got, nothing())
    assert.equal(accepted[0].destroyed, false)
  })

  for (const [name, end] of /** @type {const} */ ([['until its end', () => {}], ['that ends early', 'unblock']])) {
    test(`holds everything back in a partition ${name}, and nothing overtakes afterwards`, async () => {
      for (let seed = 1; seed <= 20; seed++) {
        const { world, client, got, connect } = twoProcesses(seed)
        client.enter('open', () => {
          const socket = connect()
          socket.on('connect', () => {
            for (let i = 0; i < 60; i++) client.clock.timer(1 + i * 10, () => { socket.write(`${i};`) })
          })
        })
        await world.run(50)
        const before = got.text
        world.network.block((a, b) => a.name === 'client' && b.name === 'server', 400)
        world.network.block((a, b) => a.name === 'server' && b.name === 'client', 300)
        await world.run(52)
        const atMost = got.text
        await world.run(300)
        assert.equal(got.text, atMost)
        if (end === 'unblock') world.network.unblock()
        await world.run(end === 'unblock' ? 420 : 445)
        if (end === 'unblock') assert.notEqual(got.text, atMost)
        await world.run(2000)
        assert.ok(before.length < got.text.length)
        assert.equal(got.text, Array.from({ length: 60 }, (_, i) => `${i};`).join(''))
        assert.deepEqual(world.violations, [])
      }
    })
  }

  test('makes a writer wait whose reader does not read, and nothing is lost', async () => {
    const { world, server, client, accepted, connect } = twoProcesses()
    const size = 300 * 1024
    let written = 0
    client.enter('open', () => {
      const socket = connect()
      for (let i = 0; i < 4; i++) socket.write(Buffer.alloc(size, i), () => { written++ })
    })
    await world.run(100, () => accepted.length > 0)
    accepted[0].pause()
    await world.run(1000)
    // one is in the buffer of the reader
    assert.equal(written, 1)
    let read = 0
    server.enter('read', () => {
      accepted[0].on('data', ({ length }) => { read += length })
      accepted[0].resume()
    })
    await world.run(2000)
    assert.equal(written, 4)
    assert.equal(read, 4 * size)
  })

  test('keeps back what a process that is stopped would read, and its connections stay open', async () => {
    const { world, server, client, got, connect } = twoProcesses()
    /** @type {any} */
    let socket
    client.enter('open', () => { socket = connect() })
    await world.run(100)
    world.schedule(0, 'stop', () => server.pause(5000), null)
    client.enter('write', () => socket.write('one'), 1)
    client.enter('write', () => socket.write(' two'), 4000)
    await world.run(5000)
    assert.equal(got.text, '')
    await world.run(5200)
    assert.deepEqual(got, { ...nothing(), text: 'one two' })
  })

  test('says which process writes to a connection of another one', async () => {
    const { world, server, client, connect } = twoProcesses()
    /** @type {any} */
    let socket
    client.enter('open', () => { socket = connect() })
    await world.run(100)
    server.enter('write', () => socket.write('not mine'))
    await world.run(200)
    assert.match(world.violations.join(), /server writes to a connection of client/)
  })
})

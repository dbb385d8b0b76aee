import assert from 'node:assert/strict'
import { once } from 'node:events'
import { fork } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bindTogether, canReusePort } from '../../../src/operate/launcher/reuse-port.js'
import { createPortSockets, createSlotSockets } from '../../../src/operate/launcher/slot-sockets.js'
import { noSlotSockets } from '../../helpers/slot-sockets.js'
import { waitFor } from '../../helpers/wait.js'

test('support by this Node and system is detected', () => {
  assert.equal(canReusePort(), noSlotSockets === false)
})

const skip = { skip: noSlotSockets }

describe('slot sockets', () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::1', '::']) {
    test(`are bound to one port of ${host}`, skip, (t) => {
      const handles = bindTogether(host, 0, 3)
      t.after(() => handles.forEach((handle) => handle.close()))
      const ports = handles.map((handle) => {
        const address = { port: 0 }
        handle.getsockname(address)
        return address.port
      })
      assert.ok(ports[0] > 0)
      assert.deepEqual(ports, [ports[0], ports[0], ports[0]])
    })
  }

  for (const reusePort of [false, true]) {
    test(
      `a port with another listener is in use, ${reusePort ? 'also if' : 'and certainly not if'} that one would share it`,
      skip,
      async (t) => {
        const server = createServer()
        t.after(() => server.close())
        server.listen({ port: 0, host: '127.0.0.1', reusePort })
        await once(server, 'listening')
        const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
        for (const host of ['127.0.0.1', '0.0.0.0', '::'])
          assert.throws(() => bindTogether(host, port, 2), { code: 'EADDRINUSE', port, address: host })
      }
    )
  }

  test('an address that this machine does not have', skip, () => {
    assert.throws(() => bindTogether('192.0.2.1', 0, 2), { code: 'EADDRNOTAVAIL', address: '192.0.2.1' })
  })

  /**
   * Slots without processes.
   * @param {import('node:test').TestContext} t
   * @param {number} count
   */
  async function startSockets (t, count) {
    /** @type {string[]} messages to workers */
    const told = []
    const worker = (/** @type {number} */ slot) => ({
      slot,
      accepting: true,
      send (/** @type {any} */ { type, slot: other = slot, error }, /** @type {unknown} */ handle) {
        told.push(`${slot}: ${error?.code ?? type} ${other}${handle ? '' : ', no handle'}`)
      }
    })
    const slots = Array.from({ length: count }, (_, slot) => ({ serving: /** @type {any} */ (worker(slot)) }))
    const sockets = createSlotSockets({ host: 'localhost', port: 0, slots: /** @type {any} */ (slots) })
    t.after(() => sockets.stop())
    await sockets.start()
    return { sockets, slots, worker, told: () => told.splice(0) }
  }

  test(
    'sockets of unserved slots go to the workers with the fewest sockets, and are returned later',
    skip,
    async (t) => {
      const { sockets, slots, worker, told } = await startSockets(t, 4)
      sockets.cover()
      for (const { serving } of slots) sockets.give(serving)
      sockets.cover()
      assert.deepEqual(told(), ['0: socket 0', '1: socket 1', '2: socket 2', '3: socket 3'])

      slots[1].serving = undefined
      sockets.cover()
      slots[3].serving = undefined
      sockets.cover()
      sockets.cover()
      assert.deepEqual(told(), ['0: stand-in 1', '2: stand-in 3'])

      slots[1].serving = worker(1)
      sockets.cover()
      assert.deepEqual(told(), ['0: stand-down 1, no handle'])
    }
  )

  test('the socket of a worker that accepts no connections for a time goes to one that does', skip, async (t) => {
    const { sockets, slots, told } = await startSockets(t, 3)
    for (const { serving } of slots) sockets.give(serving)
    told()
    slots[0].serving.accepting = slots[2].serving.accepting = false
    sockets.cover()
    assert.deepEqual(told(), ['1: stand-in 0', '1: stand-in 2'])
    slots[2].serving.accepting = true
    slots[1].serving.accepting = false
    sockets.cover()
    assert.deepEqual(told(), ['1: stand-down 0, no handle', '1: stand-down 2, no handle', '2: stand-in 0', '2: stand-in 1'])
  })

  test(
    'a stand-in that ends itself is replaced by the remaining workers, and by the first one that is back',
    skip,
    async (t) => {
      const { sockets, slots, worker, told } = await startSockets(t, 3)
      sockets.give(slots[0].serving)
      slots[0].serving = undefined
      sockets.cover()
      assert.deepEqual(told(), ['0: socket 0', '1: stand-in 0'])
      slots[1].serving = worker(1)
      sockets.cover()
      assert.deepEqual(
        told(),
        ['1: stand-down 0, no handle', '1: stand-in 0'],
        'its replacement has to be notified'
      )
      slots[1].serving = undefined
      sockets.cover()
      assert.deepEqual(told(), ['1: stand-down 0, no handle', '2: stand-in 0', '2: stand-in 1'])
      slots[2].serving = undefined
      sockets.cover()
      told()
      slots[1].serving = worker(1)
      sockets.cover()
      assert.deepEqual(told(), ['1: stand-in 0', '1: stand-in 2'])
    }
  )

  test('each listener has sockets of its own, and one that is new since the start none', skip, async (t) => {
    /** @type {any[]} messages to workers */
    const told = []
    const worker = (/** @type {number} */ slot) => ({
      slot, accepting: true,
      send: (/** @type {any} */ { type, listener, error }, /** @type {any} */ handle) =>
        told.push([slot, type, listener, error?.message ?? handle?.getsockname({}) ?? 'no handle'])
    })
    const slots = [0, 1].map((slot) => ({ serving: /** @type {any} */ (worker(slot)) }))
    const own = { protocol: 'ws', over: 'websocket', tls: false, host: '127.0.0.1', port: 0, name: 'own' }
    const shared = { protocol: 'ws', over: 'websocket', tls: false, path: '/shared', name: 'shared' }
    const sockets = createPortSockets(
      /** @type {any} */ ({ host: 'localhost', port: 0, listeners: [own, shared] }), /** @type {any} */ (slots)
    )
    t.after(() => sockets.stop())
    await sockets.start()
    for (const { serving } of slots) for (const listener of [undefined, 'own']) sockets.give(serving, listener)
    sockets.give(slots[0].serving, 'new')
    const [first] = slots.splice(0, 1, { serving: undefined })
    sockets.cover()
    slots[0] = first
    sockets.cover()
    assert.deepEqual(told, [
      [0, 'socket', undefined, 0], [0, 'socket', 'own', 0], [1, 'socket', undefined, 0], [1, 'socket', 'own', 0],
      [0, 'socket', 'new', 'the listener new is new in LISTENERS: restart inkcast, a reload opens no port'],
      [1, 'stand-in', undefined, 0], [1, 'stand-in', 'own', 0],
      [1, 'stand-down', undefined, 'no handle'], [1, 'stand-down', 'own', 'no handle']
    ])
  })

  test('after the stop no worker gets a socket', skip, async (t) => {
    const { sockets, slots, told } = await startSockets(t, 2)
    sockets.give(slots[0].serving)
    sockets.stop()
    sockets.give(slots[1].serving)
    slots[0].serving = undefined
    sockets.cover()
    assert.deepEqual(told(), ['0: socket 0'])
  })
})

test('a worker accepts several connections in one turn of its event loop, and leaves nothing open', skip, async (t) => {
  const [handle] = bindTogether('127.0.0.1', 0, 1)
  t.after(() => handle.close())
  const { port } = (() => {
    const address = { port: 0 }
    handle.getsockname(address)
    return address
  })()
  const worker = fork(fileURLToPath(new URL('../../helpers/slot-worker.js', import.meta.url)))
  t.after(() => { worker.kill('SIGKILL') })
  const ended = once(worker, 'exit')
  /** @type {any} */
  let told
  let asked = 0
  worker.on('message', (/** @type {any} */ message) => {
    if (message.type === 'listen') {
      asked++
      worker.send({ type: 'socket' }, handle)
    } else if (message.type === undefined) {
      told = message
    }
  })
  await waitFor(() => told?.ready, { timeout: 20_000, message: 'the worker to listen' })
  assert.equal(asked, 8)
  // it continues with all connections, and the message, at once
  worker.kill('SIGSTOP')
  const clients = Array.from({ length: 80 }, () => connect(port, '127.0.0.1'))
  t.after(() => { for (const client of clients) client.destroy() })
  await Promise.all(clients.map((client) => once(client, 'connect')))
  for (const client of clients) client.on('error', () => {})
  await new Promise((resolve) => { worker.send({ connections: 80 }, resolve) })
  worker.kill('SIGCONT')
  await waitFor(() => told?.turns, { timeout: 20_000, message: 'the connections to be accepted' })
  assert.ok(told.turns < 40, `${told.turns} turns`)
  await ended
})

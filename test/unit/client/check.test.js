import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { random } from '../../../client/common/random.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/** A dead line is found, and WebSockets that a proxy swallows are given up. */

/** @param {import('node:test').TestContext} t */
function mockTime (t) {
  const time = clientTime(t)
  t.mock.method(random, 'number', () => 1)
  return time
}

/**
 * The events of a window.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, any>} [more]
 */
function mockPage (t, more = {}) {
  /** @type {Map<string, Function>} */
  const listeners = new Map()
  const page = {
    addEventListener: (/** @type {string} */ event, /** @type {Function} */ listener) => listeners.set(event, listener),
    removeEventListener: (/** @type {string} */ event) => listeners.delete(event),
    ...more
  }
  Object.assign(globalThis, page)
  t.after(() => { for (const key of Object.keys(page)) delete /** @type {any} */ (globalThis)[key] })
  return listeners
}

const CHECK = 'gateway:check'

describe('a connection is checked', () => {
  for (const event of ['online', 'pageshow', 'visibilitychange']) {
    test(`at \`${event}\`, and dropped if nothing comes in time`, async (t) => {
      const time = mockTime(t)
      const page = { visibilityState: 'visible' }
      const listeners = mockPage(t, { document: page })
      const { client, socket, states } = scriptedClient(t)
      socket.accepts()
      page.visibilityState = 'hidden'
      listeners.get(event)?.()
      assert.equal(socket.sent.length, 0, 'not while nobody sees the page')
      page.visibilityState = 'visible'
      listeners.get(event)?.()
      listeners.get(event)?.()
      assert.deepEqual(socket.sent.map(({ event }) => event), [CHECK], 'one check at a time')
      socket.last(CHECK).answer({ ok: false })
      listeners.get(event)?.()
      assert.equal(client.state, 'connected')
      socket.last(CHECK).lose()
      assert.deepEqual(states, ['connected', 'reconnecting: disconnected'])
      time.advance(1000)
      assert.equal(socket.attempts.length, 2)
      // a page that comes back during a pause does not wait for its end
      socket.fails()
      listeners.get(event)?.()
      time.advance(300)
      assert.equal(socket.attempts.length, 3)
      client.close()
      assert.equal(listeners.size, 0)
    })
  }

  test('by `client.check()`, which tells the result; any packet is an answer', async (t) => {
    const { client, socket, states } = scriptedClient(t)
    assert.equal(await client.check(), false, 'not connected yet')
    socket.accepts()
    let check = client.check()
    socket.last(CHECK).answer({ ok: false, error: { code: 'unknown_event' } })
    assert.equal(await check, true)
    check = client.check()
    socket.io.engine.emit('packet')
    assert.equal(await check, true)
    socket.last(CHECK).lose()
    assert.equal(client.state, 'connected', 'a late timeout of an answered check')
    check = client.check()
    socket.disconnects('transport close')
    assert.equal(await check, false)
    socket.accepts()
    check = client.check()
    socket.last(CHECK).lose()
    assert.equal(await check, false)
    assert.deepEqual(states.filter((state) => state !== 'connected').length, 2)
    assert.equal(socket.io.engine.listenerCount('packet'), 0)
  })

  test('by `connect()` of a connected client', (t) => {
    const { client, socket } = scriptedClient(t)
    socket.accepts()
    client.connect()
    socket.last(CHECK).lose()
    assert.equal(client.state, 'reconnecting')
  })

  test('after a request without an answer', async (t) => {
    const { client, socket } = scriptedClient(t)
    const opening = client.open('doc')
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: { epoch: 'e', offset: 1 }, recovered: false })
    const doc = await opening
    const sending = doc.send('x')
    await settle()
    socket.last('doc:send').lose()
    await assert.rejects(sending, { code: 'timeout' })
    socket.last(CHECK).lose()
    assert.equal(client.state, 'reconnecting')
  })
})

describe('a WebSocket without a first message', () => {
  for (const [name, happens] of /** @type {[string, (socket: any, time: ReturnType<typeof clientTime>) => void][]} */ ([
    ['is given up after 3 s', (socket, time) => {
      time.advance(2999)
      assert.equal(socket.attempts.length, 1)
      time.advance(1)
    }],
    ['is given up when it is closed', (socket) => { socket.io.engine.emit('close') }]
  ])) {
    test(`${name}, and long polling is tried`, (t) => {
      const time = mockTime(t)
      const { client, socket } = scriptedClient(t)
      happens(socket, time)
      assert.deepEqual([client.state, client.reason?.code], ['connecting', 'unavailable'])
      time.advance(300)
      assert.deepEqual(socket.attempts, [['websocket', 'polling'], ['polling', 'websocket']])
      socket.io.engine.emit('handshake', { maxPayload: 1000 })
      time.advance(10_000)
      assert.equal(socket.attempts.length, 2, 'long polling has its time')
      socket.accepts()
      assert.equal(client.state, 'connected')
    })
  }

  test('is one thing, and a slow admission another: that has its time', (t) => {
    const time = mockTime(t)
    const { socket } = scriptedClient(t)
    socket.io.engine.emit('handshake', { maxPayload: 1000 })
    time.advance(29_000)
    assert.equal(socket.attempts.length, 1)
  })

  test('is left to the page that has chosen its transports', (t) => {
    const time = mockTime(t)
    const { socket } = scriptedClient(t, { transports: ['websocket'] })
    time.advance(10_000)
    assert.equal(socket.attempts.length, 1)
  })

  test('is remembered for the next load, until WebSockets work again', (t) => {
    const time = mockTime(t)
    /** @type {Map<string, string>} */
    const kept = new Map()
    mockPage(t, {
      sessionStorage: {
        getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
        setItem: (/** @type {string} */ key, /** @type {string} */ value) => kept.set(key, value),
        removeItem: (/** @type {string} */ key) => kept.delete(key)
      }
    })
    const first = scriptedClient(t)
    time.advance(3000)
    time.advance(300)
    first.socket.accepts()
    assert.deepEqual([...kept.values()], ['polling'])
    first.client.close()
    const second = scriptedClient(t)
    assert.deepEqual(second.socket.attempts, [['polling', 'websocket']])
    second.socket.accepts()
    second.socket.io.engine.transport.name = 'websocket'
    second.socket.io.engine.emit('upgrade')
    assert.deepEqual([...kept.values()], ['websocket'])
    second.client.close()
    assert.deepEqual(scriptedClient(t).socket.attempts, [['websocket', 'polling']])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { random } from '../../../client/common/random.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/**
 * Checks that the next attempt is made between `earliest` and `latest`.
 * @param {ReturnType<typeof clientTime>} time
 * @param {import('../../helpers/scripted-socket.js').ScriptedSocket} socket
 * @param {number} earliest ms
 * @param {number} [latest]
 */
function assertNextAttempt (time, socket, earliest, latest = earliest) {
  const attempts = socket.attempts.length
  time.advance(earliest - 1)
  assert.equal(socket.attempts.length, attempts)
  time.advance(latest - earliest + 1)
  assert.equal(socket.attempts.length, attempts + 1)
}

describe('a connection that was lost', () => {
  test('is restored after a pause, which grows with failures and is short again after a connection has lasted', async (t) => {
    const time = clientTime(t)
    t.mock.method(random, 'number', () => 1)
    const { client, socket, states } = scriptedClient(t)
    socket.accepts()
    time.advance(10_000)
    socket.disconnects('transport close')
    for (const pause of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
      assertNextAttempt(time, socket, pause)
      socket.fails()
    }
    assert.equal(client.reason?.code, 'unavailable')
    time.advance(15_000)
    socket.accepts()
    assert.equal(client.reason, null)
    time.advance(10_000)
    socket.disconnects('transport close')
    time.advance(1000)
    assert.equal(socket.attempts.length, 9)
    assert.deepEqual(states, [
      'connected',
      'reconnecting: disconnected',
      'reconnecting: unavailable',
      'connected',
      'reconnecting: disconnected'
    ])
  })

  test('that never lasts counts as a failure', (t) => {
    const time = clientTime(t)
    t.mock.method(random, 'number', () => 1)
    const { socket } = scriptedClient(t)
    for (const pause of [1000, 2000, 4000]) {
      socket.accepts()
      socket.disconnects('transport close')
      assertNextAttempt(time, socket, pause)
    }
  })

  test('is restored after the delay of a draining gateway', (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    socket.accepts()
    socket.tells('gateway:draining', { reconnectInMs: 3210 })
    assert.equal(client.state, 'draining')
    assert.equal(client.transport, 'websocket')
    socket.disconnects('transport close')
    assert.equal(client.state, 'reconnecting')
    assertNextAttempt(time, socket, 3210)
  })

  test('is restored at once by connect(), and never after close()', (t) => {
    const time = clientTime(t)
    const { client, socket, states } = scriptedClient(t)
    socket.accepts()
    client.drop(50_000)
    assert.equal(client.state, 'reconnecting')
    client.connect()
    assert.equal(socket.attempts.length, 2)
    socket.accepts()
    client.connect()
    assert.equal(socket.attempts.length, 2)
    socket.disconnects('transport close')
    client.close()
    client.close()
    client.connect()
    time.advance(100_000)
    assert.equal(socket.attempts.length, 2)
    assert.equal(client.state, 'closed')
    assert.deepEqual(states.slice(-2), ['reconnecting: disconnected', 'closed: closed'])
  })

  test('connect() makes no second attempt during a pending one', async (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    client.connect()
    assert.equal(socket.attempts.length, 1)
    socket.handshake()
    client.connect()
    assert.equal(socket.attempts.length, 1)
    socket.accepts()
    client.on('state', (state) => { if (state === 'reconnecting') client.connect() })
    socket.disconnects('transport close')
    assert.equal(socket.attempts.length, 2, 'by the listener')
    socket.accepts()
    time.advance(100_000)
    assert.deepEqual([socket.attempts.length, client.state], [2, 'connected'])
  })

  test('is restored soon after the browser is online, but not before a time that the gateway named', (t) => {
    const time = clientTime(t)
    t.mock.method(random, 'number', () => 1)
    /** @type {Map<string, Function>} */
    const listeners = new Map()
    Object.assign(globalThis, {
      addEventListener: (/** @type {string} */ event, /** @type {Function} */ listener) =>
        listeners.set(event, listener),
      removeEventListener: (/** @type {string} */ event) => listeners.delete(event)
    })
    t.after(() => Object.assign(globalThis, { addEventListener: undefined, removeEventListener: undefined }))
    const { client, socket } = scriptedClient(t)
    listeners.get('online')?.()
    time.advance(1000)
    assert.equal(socket.attempts.length, 1, 'one attempt is pending')
    socket.accepts()
    time.advance(10_000)
    socket.disconnects('transport close')
    for (const pause of [1000, 2000]) {
      time.advance(pause)
      socket.fails()
    }
    listeners.get('online')?.()
    time.advance(300)
    assert.equal(socket.attempts.length, 4)
    socket.refuses({ code: 'unavailable', retryable: true, retryInMs: 4000 })
    listeners.get('online')?.()
    assertNextAttempt(time, socket, 4000)
    socket.accepts()
    socket.tells('gateway:draining', { reconnectInMs: 3210 })
    socket.disconnects('transport close')
    listeners.get('online')?.()
    assertNextAttempt(time, socket, 3210)
    client.close()
    assert.equal(listeners.size, 0)
  })
})

describe('an attempt', () => {
  test('uses long polling after WebSocket failed, at once on a page without a connection, and the other way round', (t) => {
    const time = clientTime(t)
    const { socket, states } = scriptedClient(t)
    socket.fails()
    time.advance(300)
    socket.fails()
    time.advance(2000)
    assert.deepEqual(socket.attempts, [
      ['websocket', 'polling'],
      ['polling', 'websocket'],
      ['websocket', 'polling']
    ])
    assert.deepEqual(states, ['connecting: unavailable'])
  })

  test('starts with the previous transport: long polling upgrades to WebSocket if possible', (t) => {
    const time = clientTime(t)
    const { socket } = scriptedClient(t)
    socket.fails()
    time.advance(300)
    socket.accepts()
    time.advance(10_000)
    socket.disconnects('transport close')
    time.advance(1000)
    socket.accepts()
    socket.io.engine.transport.name = 'websocket'
    time.advance(10_000)
    socket.disconnects('transport close')
    time.advance(1000)
    assert.deepEqual(socket.attempts.map(([first]) => first), ['websocket', 'polling', 'polling', 'websocket'])
  })

  test('uses the configured transports only', (t) => {
    const time = clientTime(t)
    const { socket } = scriptedClient(t, { transports: ['polling'] })
    socket.fails()
    time.advance(1000)
    assert.deepEqual(socket.attempts, [['polling'], ['polling']])
  })

  test('that gets a 503 is followed by one after the delay in the response', (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    socket.fails({
      context: { status: 503, getResponseHeader: (/** @type {string} */ name) => (name === 'retry-after' ? '5' : null) }
    })
    const retryInMs = Number(client.reason?.retryInMs)
    assert.ok(retryInMs >= 5000 && retryInMs < 6000, `${retryInMs} ms`)
    assertNextAttempt(time, socket, 5000, 6000)
  })

  test('ends without a response to the handshake, or when the transport is lost before', (t) => {
    const time = clientTime(t)
    const { socket } = scriptedClient(t)
    time.advance(30_000)
    time.advance(300)
    assert.equal(socket.attempts.length, 2)
    socket.handshake()
    socket.disconnects('transport close')
    time.advance(2000)
    assert.equal(socket.attempts.length, 3)
  })
})

describe('a refusal', () => {
  test('that is temporary is followed by another attempt after the gateway\'s delay', (t) => {
    const time = clientTime(t)
    const { socket, states } = scriptedClient(t)
    socket.refuses({ code: 'unavailable', retryable: true, retryInMs: 4000 })
    time.advance(3999)
    assert.equal(socket.attempts.length, 1)
    time.advance(1)
    assert.equal(socket.attempts.length, 2)
    assert.deepEqual(states, ['connecting: unavailable'])
  })

  test('has the gateway\'s delay in its reason, after each attempt that of the last one', (t) => {
    const time = clientTime(t)
    const { client, socket, states } = scriptedClient(t)
    socket.refuses({ code: 'unavailable', retryable: true, retryInMs: 4000 })
    assert.equal(client.reason?.retryInMs, 4000)
    time.advance(4000)
    socket.refuses({ code: 'unavailable', retryable: true, retryInMs: 2000 })
    assert.equal(client.reason?.retryInMs, 2000)
    assert.deepEqual(states, ['connecting: unavailable'])
    time.advance(2000)
    socket.accepts()
    socket.tells('gateway:disconnect', { code: 'overloaded', message: 'too much', retryable: true, retryInMs: 30_000 })
    socket.disconnects('io server disconnect')
    assert.equal(client.reason?.retryInMs, 30_000)
  })

  test('that is permanent is not followed by another attempt, until connect() is called', async (t) => {
    const time = clientTime(t)
    const { client, socket, states } = scriptedClient(t)
    const opening = client.open('minutes')
    socket.refuses({ code: 'origin_refused', retryable: false })
    await assert.rejects(opening, { name: 'ClientError', code: 'origin_refused', retryable: false, message: 'refused' })
    await assert.rejects(client.open('minutes'), { code: 'origin_refused' })
    time.advance(100_000)
    assert.equal(socket.attempts.length, 1)
    client.connect()
    assert.equal(socket.attempts.length, 2)
    socket.accepts()
    assert.deepEqual(states, ['refused: origin_refused', 'reconnecting', 'connected'])
  })

  test('does not end the attempt that a listener makes when it hears of it', (t) => {
    clientTime(t)
    const { client, socket } = scriptedClient(t)
    client.on('state', (state) => { if (state === 'refused') client.connect() })
    socket.refuses({ code: 'origin_refused', retryable: false })
    assert.deepEqual([socket.attempts.length, socket.opening], [2, true])
    socket.accepts()
    assert.equal(client.state, 'connected')
  })

  test('of a packet that the gateway cannot decode ends the connection only, and requests in flight have the cause', async (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    socket.accepts()
    const opened = client.open('minutes')
    await settle()
    socket.last('doc:join').answer({ ok: true, guid: 'minutes', position: { epoch: 'e', offset: 0 }, recovered: false })
    const doc = await opened
    const sent = doc.send(1)
    await settle()
    socket.tells('gateway:disconnect', { code: 'bad_value', message: 'no event', retryable: false })
    socket.connected = false
    socket.last('doc:send').lose()
    socket.disconnects('io server disconnect')
    const error = await sent.then(() => assert.fail('accepted'), (error) => error)
    assert.deepEqual([error.code, error.retryable, error.cause.code], ['disconnected', true, 'bad_value'])
    assert.deepEqual([client.state, client.reason?.code, client.reason?.message], ['reconnecting', 'bad_value', 'no event'])
    time.advance(1000)
    assert.equal(socket.attempts.length, 2)
    socket.accepts()
    assert.deepEqual([client.state, client.reason], ['connected', null])
  })

  test('may also precede a disconnection', (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    socket.accepts()
    socket.tells('gateway:disconnect', { code: 'kicked', message: 'disconnected by the service', retryable: false })
    socket.disconnects('io server disconnect')
    time.advance(100_000)
    assert.equal(socket.attempts.length, 1)
    assert.equal(client.state, 'refused')
    assert.equal(client.reason?.message, 'disconnected by the service')
  })
})

describe('a token', () => {
  test('is requested for each handshake, and once more after the gateway refused it', async (t) => {
    const time = clientTime(t)
    /** @type {string[]} */
    const asked = []
    const { client, socket } = scriptedClient(t, { token: async (why) => `token ${asked.push(why)}` })
    await settle()
    socket.refuses({ code: 'token_expired', retryable: false })
    assert.equal(client.state, 'connecting')
    time.advance(1000)
    await settle()
    socket.accepts()
    assert.deepEqual(asked, ['connect', 'refused'])
    assert.deepEqual(socket.handshakes.map(({ token }) => token), ['token 1', 'token 2'])
    time.advance(10_000)
    socket.disconnects('transport close')
    time.advance(1000)
    await settle()
    for (let i = 0; i < 2; i++) {
      socket.refuses({ code: 'unauthorized', retryable: false })
      time.advance(5000)
      await settle()
    }
    assert.deepEqual(asked, ['connect', 'refused', 'connect', 'refused'])
    assert.equal(client.state, 'refused')
  })

  test('is not needed by a client of a session, which connects again when the gateway has to ask about it again', (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    socket.accepts()
    socket.tells('gateway:disconnect', { code: 'token_expired', message: 'the token has expired', retryable: false })
    socket.disconnects('io server disconnect')
    assert.deepEqual([client.state, client.reason?.code], ['reconnecting', 'token_expired'])
    time.advance(1000)
    assert.equal(socket.attempts.length, 2)
    socket.refuses({ code: 'no_session', retryable: false })
    assert.deepEqual([client.state, client.reason?.code], ['refused', 'no_session'])
  })

  test('that does not change is not sent again', (t) => {
    clientTime(t)
    const { client, socket } = scriptedClient(t, { token: 'fixed' })
    socket.refuses({ code: 'unauthorized', retryable: false })
    assert.equal(client.state, 'refused')
    assert.equal(socket.handshakes[0].token, 'fixed')
  })

  test('is replaced before it expires', async (t) => {
    clientTime(t)
    const { socket } = scriptedClient(t, { token: (why) => `for ${why}` })
    await settle()
    socket.accepts()
    socket.tells('auth:expiring', { inMs: 60_000 })
    await settle()
    assert.deepEqual(socket.last('auth:refresh').argument, { token: 'for expiring' })
  })

  test('that is unavailable is requested again after a pause', async (t) => {
    const time = clientTime(t)
    let asked = 0
    const { client, socket, states } = scriptedClient(t, { token: () => { throw new Error(`failure ${++asked}`) } })
    await settle()
    assert.deepEqual(states, ['connecting: token_unavailable'])
    assert.match(String(client.reason?.cause), /failure 1/)
    time.advance(1000)
    await settle()
    assert.equal(asked, 2)
    assert.equal(socket.attempts.length, 0)
  })
})

describe('a page that the gateway refuses', () => {
  const refusal = {
    code: 'origin_refused',
    message: 'pages of http://localhost:5173 may not connect: add this origin to ALLOWED_ORIGINS',
    retryable: false
  }
  const context = { status: 403, responseText: JSON.stringify(refusal) }

  test('gets the reason over long polling after a refused WebSocket, and stops retrying', async (t) => {
    const time = clientTime(t)
    const { client, socket, states } = scriptedClient(t)
    const opening = assert.rejects(client.open('doc'), refusal)
    socket.fails()
    time.advance(300)
    assert.deepEqual(socket.attempts[1], ['polling', 'websocket'])
    socket.fails({ context })
    await opening
    assert.deepEqual(states, ['connecting: unavailable', 'refused: origin_refused'])
    assert.equal(client.reason?.message, refusal.message)
    time.advance(60_000)
    assert.equal(socket.attempts.length, 2)
    client.connect()
    await settle()
    assert.equal(socket.attempts.length, 3)
  })

  test('is not assumed for a 403 of an intermediary, or for a temporary error', (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    for (const responseText of [
      '<html>',
      '',
      '{}',
      'null',
      '{"code":4,"message":"Forbidden"}',
      JSON.stringify({ ...refusal, retryable: true })
    ]) {
      socket.fails({ context: { status: 403, responseText } })
      assert.equal(client.state, 'connecting', responseText)
      time.advance(15_000)
    }
  })

  test('sends one request, without a session, if it uses WebSocket only', async (t) => {
    /** @type {string[]} */
    const asked = []
    t.mock.method(globalThis, 'fetch', async (/** @type {URL} */ url) => {
      asked.push(String(url))
      return { status: 403, text: async () => context.responseText }
    })
    Object.assign(globalThis, { location: { origin: 'http://localhost:5173' } })
    t.after(() => { delete (/** @type {any} */ (globalThis).location) })
    const { socket, states } = scriptedClient(t, { transports: ['websocket'] })
    Object.assign(socket.io, { uri: 'ws://gateway:3000', opts: { ...socket.io.opts, path: '/socket.io' } })
    socket.fails()
    await settle()
    assert.deepEqual(asked, ['http://gateway:3000/socket.io/?EIO=4&transport=polling&sid=none'])
    assert.deepEqual(states, ['connecting: unavailable', 'refused: origin_refused'])
  })
})

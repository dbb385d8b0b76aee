import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tokenOf } from '../simulation/parts/page.js'
import { RawSession } from '../simulation/script/raw-session.js'

/**
 * The cases of the public test suites of the Engine.IO protocol (version 4) and of the Socket.IO protocol (version 5),
 * in the order of those suites. Their servers echo; here the answer to a request of inkcast stands for the echo.
 */

const PING_INTERVAL = 25_000
const PING_TIMEOUT = 20_000
/** Virtual ms. */
const AT_ONCE = 500
const WS = '&transport=websocket'
const MEMBERS = '["doc:join",{"guid":"a"}]'

/** @param {(session: RawSession) => Promise<void>} play */
const withSession = (play) => () => inCluster({ workers: 1 }, (cluster) => play(new RawSession(cluster, 'client')))

/** @param {RawSession} session @returns {Promise<void>} a polling session is connected, and its answers are read */
async function connectPolling (session) {
  await session.openPolling()
  await session.post(`40${JSON.stringify({ token: tokenOf('ada') })}`)
  assert.match((await session.poll()).text, /^40\{"sid":"[\w-]{20}"/)
}

/**
 * @param {RawSession} session
 * @param {() => Promise<import('../simulation/script/raw-session.js').Answer>} request while a poll waits
 * @returns {Promise<import('../simulation/script/raw-session.js').Answer[]>} of the poll, and of the request
 */
const whilePolling = (session, request) => session.cluster.act(session.process, async () => {
  const poll = session.send('GET', session.address)
  await session.process.clock.sleep(200)
  return Promise.all([poll, request()])
})

/** @param {RawSession} session @returns {Promise<import('../simulation/script/raw-session.js').RawWebSocket>} */
async function upgraded (session) {
  await session.openPolling()
  const ws = await session.webSocket(`${WS}&sid=${session.sid}`)
  await ws.send('2probe')
  await ws.text(/^3probe$/)
  return ws
}

describe('Engine.IO protocol: handshake', () => {
  test('HTTP long-polling opens a session', withSession(async (session) => {
    const { sid, ...rest } = await session.openPolling()
    assert.match(sid, /^[\w-]{20}$/)
    assert.deepEqual(rest, {
      upgrades: ['websocket'], pingInterval: PING_INTERVAL, pingTimeout: PING_TIMEOUT, maxPayload: rest.maxPayload
    })
    assert.equal(typeof rest.maxPayload, 'number')
  }))

  test('WebSocket opens a session', withSession(async (session) => {
    const ws = await session.webSocket()
    const { sid, ...rest } = JSON.parse((await ws.text(/^0\{/)).slice(1))
    assert.match(sid, /^[\w-]{20}$/)
    assert.deepEqual(rest.upgrades, [])
    assert.equal(rest.pingInterval, PING_INTERVAL)
    assert.equal(rest.pingTimeout, PING_TIMEOUT)
  }))

  test('wrong versions, transports and methods are refused', withSession(async (session) => {
    for (const query of ['transport=polling', 'EIO=abc&transport=polling', 'EIO=4', 'EIO=4&transport=abc'])
      assert.equal((await session.request('GET', `/socket.io/?${query}`)).status, 400, query)
    // the suite wants 400 for both; 405 says which one of the two it is
    for (const [method, status] of /** @type {const} */ ([['POST', 400], ['PUT', 405]]))
      assert.equal((await session.request(method, '/socket.io/?EIO=4&transport=polling')).status, status, method)
    for (const query of ['', '&transport=abc', '&transport=websocket&EIO=abc', '&transport=websocket&EIO=3']) {
      const ws = await session.webSocket(query)
      await ws.closed(AT_ONCE)
      assert.deepEqual(ws.received, [], query)
    }
  }))
})

describe('Engine.IO protocol: messages', () => {
  test('one packet, several ones, and text beside bytes arrive over long-polling', withSession(async (session) => {
    await connectPolling(session)
    assert.deepEqual(await session.post(`421${MEMBERS}`), { status: 200, text: 'ok' })
    assert.match((await session.poll()).text, /^431\[\{"ok":true/)
    assert.deepEqual(await session.post(`422${MEMBERS}\x1e423${MEMBERS}`), { status: 200, text: 'ok' })
    const [second, third] = (await session.poll()).text.split('\x1e')
    assert.match(second, /^432\[/)
    assert.match(third, /^433\[/)
    const bytes = '451-4["doc:send",{"guid":"a","data":{"_placeholder":true,"num":0}}]\x1ebAQIDBA=='
    assert.deepEqual(await session.post(bytes), { status: 200, text: 'ok' })
    assert.match((await session.poll()).text, /434\[\{"ok":true/)
  }))

  for (const [what, body] of [['an unknown packet', 'abc'], ['bytes that are no base64 of a packet', 'b####']]) {
    test(`${what} ends a long-polling session`, withSession(async (session) => {
      await session.openPolling()
      await session.post(body)
      // an answer that was under way may still be read
      await session.poll()
      assert.equal((await session.poll()).status, 400)
    }))
  }

  test('a second poll at the same time ends the session', withSession(async (session) => {
    await connectPolling(session)
    const [first, second] = await whilePolling(session, () => session.send('GET', `${session.address}&t=2`))
    assert.deepEqual(first, { status: 200, text: '1' })
    assert.ok([400, 500].includes(second.status), `${second.status}`)
    assert.equal((await session.poll()).status, 400)
  }))

  test('an unknown packet ends a WebSocket session', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.send('abc')
    await ws.closed(AT_ONCE)
  }))
})

describe('Engine.IO protocol: heartbeat', () => {
  test('pings come over long-polling, and their pongs keep the session', withSession(async (session) => {
    await connectPolling(session)
    for (let i = 0; i < 3; i++) {
      assert.equal((await session.poll()).text, '2')
      assert.equal((await session.post('3')).text, 'ok')
    }
  }))

  test('a long-polling session without a pong ends', withSession(async (session) => {
    await connectPolling(session)
    await session.cluster.pass(PING_INTERVAL + PING_TIMEOUT + 5000)
    assert.equal((await session.poll()).status, 400)
  }))

  test('pings come over WebSocket, and their pongs keep the session', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.connect()
    for (let i = 1; i <= 3; i++) {
      await session.cluster.until(() => ws.received.filter((message) => message === '2').length === i)
      await ws.send('3')
    }
    assert.equal(ws.isClosed, false)
  }))

  test('a WebSocket session without a pong ends', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.connect()
    await ws.closed(PING_INTERVAL + PING_TIMEOUT + 5000)
    assert.ok(session.cluster.time > PING_INTERVAL)
  }))
})

describe('Engine.IO protocol: close and upgrade', () => {
  test('a close packet ends a long-polling session, and its poll gets a noop', withSession(async (session) => {
    await connectPolling(session)
    const [poll] = await whilePolling(session, () => session.send('POST', session.address, '1'))
    assert.deepEqual(poll, { status: 200, text: '6' })
    assert.equal((await session.poll()).status, 400)
  }))

  test('a close packet ends a WebSocket session', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.send('1')
    await ws.closed(AT_ONCE)
  }))

  test('a session is upgraded: its poll ends with a noop, and messages come over the WebSocket',
    withSession(async (session) => {
      const ws = await upgraded(session)
      assert.deepEqual(await session.poll(), { status: 200, text: '6' })
      await ws.send('5', `40${JSON.stringify({ token: tokenOf('ada') })}`)
      await ws.text(/^40\{"sid"/)
    }))

  test('after an upgrade neither polls nor other WebSockets reach the session', withSession(async (session) => {
    const ws = await upgraded(session)
    await ws.send('5')
    await session.cluster.pass(500)
    assert.equal((await session.poll()).status, 400)
    const other = await session.webSocket(`${WS}&sid=${session.sid}`)
    await other.closed(AT_ONCE)
    await ws.send(`40${JSON.stringify({ token: tokenOf('ada') })}`)
    await ws.text(/^40\{"sid"/)
  }))
})

describe('Socket.IO protocol', () => {
  test('the main namespace is connected, with a payload', withSession(async (session) => {
    const ws = await session.webSocket()
    const { sid, ...rest } = JSON.parse((await ws.connect()).slice(2))
    assert.match(sid, /^[\w-]{20}$/)
    assert.deepEqual(rest, {})
  }))

  test('inkcast has no other namespace, and says so without an end of the connection', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.text(/^0\{/)
    await ws.send('40/random')
    assert.equal(await ws.text(/^44/), '44/random,{"message":"Invalid namespace"}')
    assert.match(await ws.connect(), /^44\/random|^40\{"sid"/)
    await ws.text(/^40\{"sid"/)
  }))

  test('an invalid handshake, and none at all, end the connection', withSession(async (session) => {
    const invalid = await session.webSocket()
    await invalid.send('4abc')
    await invalid.closed(AT_ONCE)
    const silent = await session.webSocket()
    await silent.closed(60_000)
  }))

  test('a disconnect from the namespace ends what the connection may do', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.connect()
    await ws.send('41', `421${MEMBERS}`)
    await session.cluster.pass(5000)
    assert.ok(!ws.received.some((message) => String(message).startsWith('43')), String(ws.received))
  }))

  test('text and bytes are answered with the number of their acknowledgement', withSession(async (session) => {
    const ws = await session.webSocket()
    await ws.connect()
    await ws.send(`42456${MEMBERS}`)
    assert.match(await ws.text(/^43/), /^43456\[\{"ok":true/)
    await ws.send('451-789["doc:send",{"guid":"a","data":{"_placeholder":true,"num":0}}]', Buffer.from([1, 2, 3]))
    assert.match(await ws.text(/^43789/), /^43789\[\{"ok":true/)
    // the record with the bytes comes back to its sender
    assert.match(await ws.text(/^451-/), /\{"_placeholder":true,"num":0\}/)
    const bytes = await session.cluster.until(() => ws.received.find((message) => Buffer.isBuffer(message)))
    assert.deepEqual(bytes, Buffer.from([1, 2, 3]))
  }))

  for (const packet of ['4abc', '42{}', '42abc["doc:join",{"guid":"a"}]']) {
    test(`${packet} ends the connection`, withSession(async (session) => {
      const ws = await session.webSocket()
      await ws.connect()
      await ws.send(packet)
      await ws.closed(AT_ONCE)
    }))
  }
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import WebSocket from 'ws'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'
import { EngineSocket } from '../../../src/transport/engine/engine-socket.js'

const { url, gateway: { engine, io } } = await startEmbedded({ after })
const ASK = '["doc:leave",{"guid":"x"}]'

/** @param {import('node:test').TestContext} t @returns a connected polling session and its WebSocket */
async function upgrading (t) {
  const client = await rawPolling(url)
  await client.connect()
  const session = engine.sessionOf(client.sid)
  const open = () => rawWebSocket(t, url, `&transport=websocket&sid=${client.sid}`)
  return { client, session, open, ws: await open() }
}

test('a session is one object from its first poll on, with one address, and what was queued comes first', async (t) => {
  const { client, session, ws } = await upgrading(t)
  assert.ok(session instanceof EngineSocket)
  const { remoteAddress } = session
  assert.match(remoteAddress ?? '', /127\.0\.0\.1$/)
  assert.deepEqual([session.name, session.upgrading, session.upgraded], ['polling', true, false])
  ws.send('2probe')
  await ws.text(/^3probe$/)
  await client.post(`421${ASK}\x1e422${ASK}`)
  assert.deepEqual(ws.received, ['3probe'])
  /** @type {unknown[]} */
  const upgrades = []
  session.on('upgrade', (transport) => upgrades.push(transport.name, session.upgraded))
  ws.send('5', `423${ASK}`)
  await ws.text(/^433/)
  assert.deepEqual(ws.received.map(String).filter((text) => text !== '2').map((text) => text.slice(0, 3)), ['3pr', '431', '432', '433'])
  assert.deepEqual(upgrades, ['websocket', true])
  assert.equal(engine.sessionOf(client.sid), session)
  assert.deepEqual([session.name, session.remoteAddress, session.polling], ['websocket', remoteAddress, null])
  ws.ws.close()
  await waitFor(() => session.readyState === 'closed', { message: 'the end of the session' })
})

test('a client may upgrade without a probe, while its poll is open', async (t) => {
  const { client, session, ws } = await upgrading(t)
  const poll = client.poll()
  await waitFor(() => session.writable, { message: 'the poll' })
  ws.send('5')
  assert.deepEqual(await poll, { status: 200, text: '6' })
  assert.equal((await client.poll()).status, 400)
  ws.send('41')
  await ws.closed
})

for (const [what, end] of /** @type {[string, (ws: any) => void][]} */ ([
  ['sends another packet', (ws) => ws.send('40')],
  ['sends bytes', (ws) => ws.send(Buffer.from('5'))],
  ['is closed by its client', (ws) => ws.ws.close()],
  ['is reset', (ws) => ws.ws._socket.resetAndDestroy()],
  ['breaks the protocol', (ws) => ws.ws._socket.write(Buffer.from([0x81, 1, 0x35]))],
  // the packets `4` and `5`, a ping, and the begin of a frame
  ['sends more in one chunk', (ws) => ws.ws._socket.write(Buffer.from([
    0x81, 0x81, 0, 0, 0, 0, 0x34, 0x81, 0x81, 0, 0, 0, 0, 0x35, 0x89, 0x80, 0, 0, 0, 0, 0x81
  ]))]
])) {
  test(`a WebSocket that ${what} before the upgrade is closed, and its session goes on with polling`, async (t) => {
    const { client, session, ws, open } = await upgrading(t)
    end(ws)
    await waitFor(() => ws.ws.readyState === WebSocket.CLOSED && !session.upgrading, { message: `${ws.ws.readyState}` })
    assert.deepEqual(ws.received, [])
    await client.post(`421${ASK}`)
    assert.equal(await client.until(/431/), true)
    assert.equal(engine.pendingUpgrades.size, 0)
    // it may try again
    const again = await open()
    again.send('2probe', '5', `422${ASK}`)
    await again.text(/^432/)
    again.send('41')
    await again.closed
  })
}

test('frames of a WebSocket that never upgrades count against the limit of its client', async (t) => {
  const client = await rawPolling(url)
  const session = engine.sessionOf(client.sid)
  const ws = await rawWebSocket(t, url, `&transport=websocket&sid=${client.sid}`)
  // not admitted: 100 frames are allowed
  for (let i = 0; i <= 100; i++) ws.send('2probe')
  await ws.closed
  assert.equal(session.readyState, 'closed')
})

test('a session that ends while it upgrades ends its WebSocket as well', async (t) => {
  const { client, session, ws } = await upgrading(t)
  await client.post('1')
  assert.deepEqual([session.readyState, engine.pendingUpgrades.size], ['closed', 0])
  await ws.closed
  assert.equal((await client.poll()).status, 400)
})

test('a session that is closed keeps its queue for one more poll, or for the WebSocket that it upgrades to', async (t) => {
  for (const upgrades of [false, true]) {
    const { client, session, ws } = await upgrading(t)
    await client.post(`421${ASK}`)
    session.close()
    assert.equal(session.readyState, 'closing')
    if (upgrades) {
      ws.send('5')
      await ws.closed
      assert.match(ws.received.join(' '), /431/)
    } else {
      assert.match((await client.poll()).text, /431/)
      assert.deepEqual(await client.poll(), { status: 200, text: '1' })
    }
    assert.equal(session.readyState, 'closed')
  }
})

test('a request to upgrade is refused if it has no key, or names another transport or version', async () => {
  const client = await rawPolling(url)
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  for (const query of ['&EIO=4&transport=polling', '&EIO=3&transport=websocket', '&EIO=4&transport=other']) {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?sid=${client.sid}${query}`)
    const [error] = await new Promise((resolve) => ws.once('error', (...args) => resolve(args)))
    assert.match(error.message, / 400$/, query)
  }
  const { request } = await import('node:http')
  const status = await new Promise((resolve, reject) => request(
    `${url}/socket.io/?EIO=4&transport=websocket&sid=${client.sid}`, { headers }, (res) => resolve(res.resume().statusCode)
  ).on('error', reject).end())
  assert.equal(status, 400)
  assert.equal(engine.sessionOf(client.sid).upgrading, false)
  assert.equal((await client.post('1')).status, 200)
})

test('a large answer to a poll is compressed for a client that accepts it, unless its packets say otherwise', async () => {
  const client = await rawPolling(url)
  await client.connect()
  const text = 'x'.repeat(3000)
  for (const [accepted, send, encoding] of /** @type {[string, (to: any) => void, string | null][]} */ ([
    ['gzip, deflate, br', (to) => to.emit('note', text), 'gzip'],
    ['br;q=1.0, gzip;q=0.8', (to) => to.emit('note', text), 'gzip'],
    ['*', (to) => to.emit('note', text), 'gzip'],
    ['gzip;q=0, identity', (to) => to.emit('note', text), null],
    ['identity', (to) => to.emit('note', text), null],
    ['gzip', (to) => to.compress(false).emit('note', text), null]
  ])) {
    send(io.sockets)
    const poll = async () => {
      const answer = await fetch(client.address, { headers: { 'accept-encoding': accepted } })
      return { encoding: answer.headers.get('content-encoding'), body: await answer.text() }
    }
    let answer = await poll()
    // a busy machine may send a ping before it
    if (answer.body === '2') answer = await poll()
    assert.equal(answer.encoding, encoding, accepted)
    assert.ok(answer.body.endsWith(`42["note","${text}"]`), answer.body)
  }
  assert.equal((await client.post('1')).status, 200)
})

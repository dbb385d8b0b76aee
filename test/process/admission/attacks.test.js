import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, stillServed, watchBus } from '../../helpers/left-over.js'
import { rawPolling, rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {import('node:test').TestContext} TestContext */

const file = { after }
const server = await startEmbedded(file)
const { url } = server
const bus = watchBus(server)
/** Another client, which must not be affected. */
const witness = await connectClient(file, url)
const { gateway } = server

/** @param {any} packet @returns {Buffer} */
const msgpack = (packet) => /** @type {any} */ (new msgpackParser.Encoder().encode(packet))[0]
const CONNECT = msgpack({ type: 0, nsp: '/', data: {} })

/** Whether only the witness is left. */
const alone = () =>
  waitFor(() => gateway.engine.clientsCount === 1 && gateway.connections === 1 && bus.users.size === 1, {
    message: () => ({
      transports: gateway.engine.clientsCount,
      connections: gateway.connections,
      users: [...bus.users]
    })
  })

/**
 * Sends packets on an open connection, or before there is one, and expects to be disconnected.
 * @param {TestContext} t
 * @param {(string | Buffer)[]} packets
 * @param {{ first?: (string | Buffer)[] }} [options]
 */
async function cutOff (t, packets, { first = [] } = {}) {
  const raw = await rawWebSocket(t, url)
  raw.send(...first)
  if (first.length > 0) await waitFor(() => raw.received.length === 2, { message: 'the connection' })
  raw.send(...packets)
  await waitFor(() => !raw.open, {
    message: () => `to be disconnected after ${packets.map((packet) => packet.toString().slice(0, 60))}`
  })
}

describe('invalid packets', () => {
  test('end a connection that speaks JSON', async (t) => {
    await Promise.all([
      ...[
        '4',
        '4 ',
        '4x',
        '49',
        '42{}',
        '42[]',
        '42[1',
        '42[null]',
        '42[{}]',
        '42["disconnect"]',
        '42["newListener"]',
        '42["connect_error",{}]',
        '40',
        '40{}',
        '44{"message":"x"}',
        '44x',
        '45',
        '451-',
        '451-["a",{"_placeholder":true,"num":0}]x',
        '45-1-["a"]',
        '451000000000-["a"]',
        '4511-["a"]',
        '4599999999999999999999-["a"]',
        '43{}',
        '42/other,["a"]',
        '2',
        'x',
        '9'
      ].map((packet) => cutOff(t, [packet, '42["a"]'], { first: ['40'] })),
      cutOff(t, ['451-["a",{"_placeholder":true,"num":0}]', '42["a"]'], { first: ['40'] }),
      cutOff(t, ['451-["a",{"_placeholder":true,"num":5}]', Buffer.from('x')], { first: ['40'] }),
      cutOff(t, ['451-["a",{"_placeholder":true,"num":"length"}]', Buffer.from('x')], { first: ['40'] }),
      cutOff(t, [Buffer.from('x')], { first: ['40'] }),
      cutOff(t, [msgpack({ type: 2, nsp: '/', data: ['a'] })], { first: ['40'] }),
      cutOff(t, ['x'.repeat(2 ** 20 + 20_000)], { first: ['40'] })
    ])
    await alone()
    await stillServed(witness)
  })

  test('that are only empty, or acknowledge nothing, close no connection', async (t) => {
    const raw = await rawWebSocket(t, url)
    await raw.connect()
    raw.send(
      '42',
      '421',
      '42/',
      '43',
      '437[]',
      '437["x"]',
      '6',
      '3',
      '5',
      '42["doc:join"]',
      '425["doc:join",{"guid":"a"}]'
    )
    await raw.text(/^435\[\{"ok":true/)
    raw.send('41')
    await alone()
  })

  test('end a connection that speaks msgpack', async (t) => {
    const bytes = (/** @type {string} */ hex) => Buffer.from(hex, 'hex')
    await Promise.all([
      '', 'c1', '00', 'c0', '80', '93', 'ff', '81a474797065', 'a5',
      // false lengths: 4 GB of buffer, 32 M of array and of map, nested
      'c9ffffffff00', 'c6ffffffff', 'dbffffffff', 'dd01ffffff', 'df01ffffff', 'dd01ffffff'.repeat(40), 'ddffffffff',
      '91'.repeat(200_000),
      // keys that are lists of lists: for each of them, a decoder would join a megabyte to a string
      `8491${'8191'.repeat(400)}a161${'01'.repeat(407)}`, '81900181c001', '81cb000000000000000001'
    ].map((hex) => cutOff(t, [bytes(hex)], { first: [CONNECT] })))
    await Promise.all(
      [
        [{ type: 2, nsp: '/', data: ['disconnect'] }],
        [{ type: 2, nsp: '/', data: ['newListener', {}] }],
        [{ type: 2, nsp: '/', data: [5] }],
        [{ type: 2, nsp: '/', data: [] }],
        [{ type: 2, nsp: '/', data: [['a']] }],
        [{ type: 2, nsp: '/', data: { 0: 'a' } }],
        [{ type: 2, nsp: 5, data: ['a'] }],
        [{ type: 2, nsp: '/', data: ['a'], id: 'x' }],
        [{ type: 5, nsp: '/', data: ['a'] }],
        [{ type: -1, nsp: '/' }],
        [{ nsp: '/' }],
        [{ type: 0, nsp: '/', data: {} }],
        [{ type: 2, nsp: '/other', data: ['a'] }],
        [[]],
        [null],
        [5],
        ['40']
      ].map(([packet]) => cutOff(t, [msgpack(packet)], { first: [CONNECT] }))
    )
    await cutOff(t, ['42["a"]'], { first: [CONNECT] })
    await alone()
    await stillServed(witness)
  })

  test('end a transport that has no connection yet', async (t) => {
    await Promise.all(
      [
        '42["a"]',
        '41',
        '4',
        '43[]',
        '451-["a",{"_placeholder":true,"num":0}]',
        '40[]',
        '40null',
        '40"x"',
        '44{}',
        Buffer.from('x'),
        msgpack({ type: 2, nsp: '/', data: ['a'] }),
        Buffer.from('c9ffffffff00', 'hex')
      ].map((packet) => cutOff(t, [packet]))
    )
    await alone()
    await stillServed(witness)
  })

  test('from a msgpack client cannot name a reserved event, and `error` is unknown', async (t) => {
    const client = await connectClient(t, url, { codec: 'msgpack' })
    const answer = await client.ask('error', { message: 'x' })
    assert.equal(answer.error.code, 'unknown_event')
    assert.equal(client.connected, true)
  })

  test('cannot open two connections on one transport', async (t) => {
    const raw = await rawWebSocket(t, url)
    raw.send('40', '40', '40')
    await waitFor(() => raw.received.length === 4)
    assert.equal(raw.received.filter((data) => /^40\{/.test(data.toString())).length, 1)
    assert.equal(raw.received.filter((data) => /^44.*"bad_request"/.test(data.toString())).length, 2)
    assert.equal(gateway.connections, 2)
    raw.send('40')
    await waitFor(() => !raw.open)
    // nor a connection after a disconnect
    const again = await rawWebSocket(t, url)
    await again.connect()
    again.send('41', '40')
    await waitFor(() => !again.open)
    assert.equal(again.received.length, 2)
    await alone()
  })

  test('allow no more than ten attempts to connect', async (t) => {
    const raw = await rawWebSocket(t, url)
    const authenticated =
      (await server.metrics.handshakes.get()).values.find(({ labels }) => labels.result === 'unauthorized')?.value ?? 0
    for (let i = 0; i < 1000; i++) raw.send('40{"token":"x"}')
    await waitFor(() => !raw.open, { message: 'to be disconnected' })
    const { values } = await server.metrics.handshakes.get()
    assert.ok((values.find(({ labels }) => labels.result === 'unauthorized')?.value ?? 0) - authenticated <= 10)
    await alone()
  })

  test('to other namespaces are refused', async (t) => {
    const raw = await rawWebSocket(t, url)
    raw.send('40/admin,', '40/__proto__,{}')
    await raw.text(/^44\/admin,\{"message":"Invalid namespace"\}/)
    await raw.text(/^44\/__proto__,/)
    await raw.connect()
    raw.send('42/admin,["a"]')
    await waitFor(() => !raw.open)
    await alone()
  })

  test('by the thousand in one poll disconnect their sender before most of them are decoded', async () => {
    const session = await rawPolling(url)
    await session.connect()
    const before = (await server.metrics.client_events.get()).values.reduce((sum, { value }) => sum + value, 0)
    const poll = session.poll()
    await session.post(Array(100_000).fill('42["x",1]').join('\x1e'))
    assert.match((await poll).text, /"gateway:disconnect",\{"code":"rate_limited"/)
    assert.ok(await session.until(/^41$/))
    assert.ok(await session.until(/1$/))
    const counted =
      (await server.metrics.client_events.get()).values.reduce((sum, { value }) => sum + value, 0) - before
    assert.ok(counted <= 11_000, `${counted} were handled`)
    await alone()
    await stillServed(witness)
  })

  test('disconnect their sender after a hundred of them, before it is admitted', async (t) => {
    const session = await rawPolling(url)
    await session.post(Array(30_000).fill('3').join('\x1e'))
    assert.equal((await session.poll()).status, 400)
    const raw = await rawWebSocket(t, url)
    for (let i = 0; i < 101; i++) raw.send('6')
    await waitFor(() => !raw.open)
    const admitted = await rawWebSocket(t, url)
    for (let i = 0; i < 99; i++) admitted.send('6')
    await admitted.connect()
    for (let i = 0; i < 200; i++) admitted.send('3')
    admitted.send('420["doc:leave",{"guid":"x"}]')
    await admitted.text(/^430/)
    admitted.send('41')
    await alone()
  })

  test('a megabyte may arrive in pieces', async (t) => {
    const session = await rawPolling(url)
    await session.connect()
    await session.post('420["doc:join",{"guid":"pieces"}]')
    assert.match((await session.poll()).text, /430\[\{"ok":true/)
    const body = `421["doc:send",{"guid":"pieces","data":"${'.'.repeat(2 ** 20 - 10)}"}]`
    const socket = connect(Number(new URL(url).port))
    t.after(() => socket.destroy())
    socket.setNoDelay(true)
    socket.write(
      `POST ${new URL(session.address).pathname}${new URL(session.address).search} HTTP/1.1\r\nhost: x\r\ncontent-length: ` +
      `${body.length}\r\n\r\n`
    )
    for (let at = 0; at < body.length; at += 50_000) {
      socket.write(body.slice(at, at + 50_000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(await session.until(/431\[\{"ok":true/))
    assert.ok(await session.leave())
    await alone()
  })

  test('nothing is left behind when the witness disconnects too', async () => {
    witness.disconnect()
    await nothingLeft(server, bus)
  })
})

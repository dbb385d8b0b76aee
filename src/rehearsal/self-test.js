import { isDeepStrictEqual } from 'node:util'
import { PacketType } from 'socket.io-parser'
import { encodeMsgpack } from '../wire/msgpack.js'
import { takesCompressed } from '../engine/bytes/compression.js'
import { Delivery } from '../delivery/delivery.js'
import { mayHook } from '../common/hook-switch.js'
import { useStock } from '../socketio/handshake-hooks.js'
import { FIRST_ACK_ID } from '../receipts/receipt.js'
import { openSandbox } from './sandbox.js'

/**
 * The self-test of private parts (common/hooks.js): checks that each works with the installed libraries, even if
 * monitoring tools have patched them. Real clients connect over loopback, each part is used in the same way as by the
 * gateway, and all received data is compared.
 *
 * @typedef {Awaited<ReturnType<typeof openSandbox>>} Sandbox
 */

/** Timeout of the self-test, ms. It takes 30 ms on an idle machine. */
const PATIENCE = 10_000

/**
 * @param {object} dependencies
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {import('../common/log.js').Log} dependencies.log
 * @returns {Promise<boolean>} false: the gateway must use Socket.IO's own paths; never rejects
 */
export async function testHooks ({ config, log }) {
  if (!mayHook('socket.io')) return false
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Sandbox | undefined} */
  let sandbox
  let step = 'a listener on 127.0.0.1'
  const tooLong = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${PATIENCE} ms`)), PATIENCE)
  })
  try {
    sandbox = await openSandbox(config)
    for (const [name, test] of Object.entries(TESTS)) {
      step = name
      await Promise.race([test(sandbox), tooLong])
    }
    return true
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    log.warn(
      `self-test failed (${step}: ${message}): deliveries and heartbeats take the slower paths of Socket.IO itself`
    )
    useStock()
    return false
  } finally {
    clearTimeout(timer)
    tooLong.catch(() => {})
    await sandbox?.close().catch((error) => log.debug({ err: error }, 'the self-test was not cleaned up'))
  }
}

/** @type {Record<string, (sandbox: Sandbox) => Promise<void>>} */
const TESTS = {
  'a JSON client': (sandbox) => sandbox.throughEngineIo(() => testWebSocket(sandbox, 'json')),
  'a msgpack client': (sandbox) => sandbox.throughEngineIo(() => testWebSocket(sandbox, 'msgpack')),
  'a polling client that upgrades': testPolling,
  'a JSON client that begins with a WebSocket': (sandbox) => testWebSocket(sandbox, 'json'),
  'a msgpack client that begins with a WebSocket': (sandbox) => testWebSocket(sandbox, 'msgpack')
}

/** @param {unknown} condition @param {string} what @returns {asserts condition} */
function must (condition, what) {
  if (!condition) throw new Error(what)
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** @type {(event: string, payload: unknown, codec: import('../wire/packet.js').Codec, receipt?: any) => Delivery} */
const record = (event, payload, codec, receipt) =>
  new Delivery(
    {
      operator: 'broadcast',
      guid: 'self-test',
      event,
      except: [],
      ephemeral: true,
      receipt: receipt !== undefined,
      traceId: event,
      timestamp: 1,
      ...(codec === 'json'
        ? { contentType: 'application/json', value: Buffer.from(JSON.stringify(payload)) }
        : { contentType: 'application/msgpack', value: encodeMsgpack(payload) })
    },
    0,
    receipt
  )

/** A record as clients receive it. @param {string} event @param {unknown} payload */
const got = (event, payload) => [event, payload, { guid: 'self-test', traceId: event, ts: 1 }]

const PAYLOAD = { text: 'Grüße 👩‍👩‍👧'.repeat(20), list: [1, null, { a: true }] }

/**
 * @param {Sandbox} sandbox
 * @param {import('../wire/packet.js').Codec} codec
 */
async function testWebSocket (sandbox, codec) {
  const client = await sandbox.connect(codec)
  const { received } = client
  client.send({ type: PacketType.CONNECT, data: { token: sandbox.secret } })
  await client.until(() => received.length >= 2, 'the response to CONNECT')
  const connection = sandbox.connection(received[1].data?.sid)
  must(connection !== undefined, 'the connection has another id than assigned')
  const { conn, socket } = connection

  client.send({ type: PacketType.EVENT, id: 1, data: ['doc:leave', { guid: 'self-test' }] })
  await client.until(() => received.length >= 3, 'the response to an event')
  must(received[2].type === PacketType.ACK && received[2].id === 1, 'an event gets no acknowledgement')
  must(takesCompressed(conn) === connection.context.outbox.compresses, 'compression was not negotiated')
  must(Object.values(conn).every((value) => typeof value?.hasRef !== 'function'), 'Engine.IO has a timer of its own')
  received.length = 0

  // directly, through the queue, and an event of Socket.IO itself in between
  const acknowledged = new Promise((resolve) => { connection.acknowledged = resolve })
  connection.deliver(record('joined', PAYLOAD, codec, { ackId: FIRST_ACK_ID, ask () {} }))
  connection.deliver(record('binary', [Buffer.from([1, 0x1e]), Buffer.alloc(0)], 'msgpack'))
  /** @type {(value: unknown) => void} */
  let answer = () => {}
  const answered = new Promise((resolve) => { answer = resolve })
  socket.emit('own', PAYLOAD, answer)
  connection.deliver(record('queued', PAYLOAD, 'json'))
  connection.flush()
  await client.until(() => received.length >= 4, 'four events')
  must(
    isDeepStrictEqual(
      received.map(({ data }) => data),
      [
        got('joined', PAYLOAD),
        got('binary', [Buffer.from([1, 0x1e]), Buffer.alloc(0)]),
        ['own', PAYLOAD],
        got('queued', PAYLOAD)
      ]
    ),
    'events are changed or in another order'
  )
  must(received[0].id === FIRST_ACK_ID, 'no acknowledgement is requested')
  client.send({ type: PacketType.ACK, id: FIRST_ACK_ID, data: [] })
  client.send({ type: PacketType.ACK, id: received[2].id, data: ['yes'] })
  must(await acknowledged === FIRST_ACK_ID && await answered === 'yes', 'an acknowledgement is lost')
  received.length = 0

  const [{ data, frame }] = record('direct', PAYLOAD, codec).messages(codec)
  // it takes some turns until the last write is reported as done
  for (let turns = 0; turns < 10 && !(conn.transport.writable && conn.writeBuffer.length === 0); turns++) await turn()
  must(
    conn.writeFrames(connection.context.outbox.frameOf({ data, frame }, takesCompressed(conn))),
    'an idle WebSocket accepts no frame'
  )
  conn.sendPing()
  const pong = new Promise((resolve) => { conn.once('heartbeat', resolve) })
  // the frame is sent, not the data
  conn.write(typeof data === 'string' ? data : `2["data"]`, { wsPreEncodedFrame: [frame], compress: false })
  socket.emit('end')
  await client.until(() => received.length >= 4, 'a frame, a ping and a frame')
  must(
    isDeepStrictEqual(
      received.map((one) => one.data ?? one),
      [got('direct', PAYLOAD), '2', got('direct', PAYLOAD), ['end']]
    ),
    'frames are changed or in another order'
  )
  client.ws.send('3')
  await pong

  let reason
  socket.once('disconnect', (why) => { reason = why })
  conn.terminate('ping timeout')
  await client
    .until(() => client.closed, 'the end of a terminated connection')
    .catch(() => must(client.closed, 'a terminated connection stays open'))
  must(
    reason === 'ping timeout' && sandbox.gateway.connections === 0 && sandbox.gateway.engine.clientsCount === 0,
    'a terminated connection is not removed completely'
  )
}

/** @param {Sandbox} sandbox */
async function testPolling (sandbox) {
  const { sid } = JSON.parse((await sandbox.poll()).slice(1))
  await sandbox.poll(sid, `40${JSON.stringify({ token: sandbox.secret })}`)
  const connection = sandbox.connection(JSON.parse((await sandbox.poll(sid)).slice(2)).sid)
  must(connection !== undefined, 'the connection does not exist')
  connection.deliver(record('polled', PAYLOAD, 'json'))
  connection.deliver(record('again', PAYLOAD, 'json'))
  connection.flush()
  const expected = [got('polled', PAYLOAD), got('again', PAYLOAD)].map((args) => `42${JSON.stringify(args)}`)
  // a response may contain the first one only
  let text = await sandbox.poll(sid)
  if (!text.includes('\u001e')) text += `\u001e${await sandbox.poll(sid)}`
  must(text === expected.join('\u001e'), 'the responses to polls differ from the sent events')

  const client = await sandbox.connect('json', sid)
  const { received } = client
  client.ws.send('2probe')
  await client.until(() => received.length >= 1, 'the response to a probe')
  connection.deliver(record('upgrading', PAYLOAD, 'json'))
  connection.flush()
  client.ws.send('5')
  await client.until(() => received.length >= 2, 'the event sent during an upgrade')
  connection.deliver(record('upgraded', PAYLOAD, 'json'))
  connection.flush()
  await client.until(() => received.length >= 3, 'the event sent after an upgrade')
  must(
    isDeepStrictEqual(
      received.slice(1).map(({ data }) => data),
      [got('upgrading', PAYLOAD), got('upgraded', PAYLOAD)]
    ),
    'an upgrade changes events'
  )
  client.ws.close()
  await client
    .until(() => client.closed, 'the end')
    .catch(() => must(client.closed, 'a closed connection stays open'))
}

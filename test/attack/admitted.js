/**
 * Attacks by an admitted client within its limits: 100 events and 1 MB a second.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { emptyBuffers, emptyMaps, event, nested, nestedKeys, packet } from './values.js'
import { BINARY, frame, Line, TEXT, upgradeRequest } from './wire.js'

/** @typedef {import('./anonymous.js').Attack} Attack */

const MB = 1_000_000
/** Events per second, slightly below the limit because clocks differ. */
const EVENTS = 95

/** @param {string} name @param {object} argument */
const ask = (name, argument) => frame(TEXT, `421${JSON.stringify([name, argument])}`)
/** @param {string} guid @param {string} data JSON */
const signal = (guid, data) => frame(TEXT, `421["doc:signal",{"guid":"${guid}","event":"noise","data":${data}}]`)

/**
 * @typedef {object} Entry how a client logs in, and opens a document of its own and the crowd of the witnesses
 * @property {string} request
 * @property {(token: string) => Buffer} connect its first frame
 * @property {RegExp} admitted the answer to that
 * @property {(guid: string) => Buffer} join a frame
 */

/**
 * A client that joins a document of its own and the witnesses' crowd, and writes at a steady rate; it reconnects when
 * it is closed.
 *
 * @param {Entry} entry
 * @param {number} perSecond write rate
 * @param {() => Buffer | Buffer[]} next bytes to write each time
 * @returns {Attack}
 */
export const steadyClient = ({ request, connect, admitted, join }, perSecond, next) => async (target) => {
  const { port, secure, token, seconds } = target
  const until = performance.now() + seconds * 1000
  const sent = { connections: 0, bytes: 0 }
  while (performance.now() < until) {
    const line = new Line({ port, secure })
    sent.connections++
    await line.write(request)
    await line.answer(/ 101 /)
    await line.write(connect(token))
    await line.answer(admitted)
    for (const guid of ['own', 'crowd']) await line.write(join(guid))
    const begin = performance.now()
    for (let n = 0; !line.ended && performance.now() < until; n++) {
      for (const bytes of [next()].flat()) await line.write(bytes)
      await delay(Math.max(0, begin + (n + 1) * 1000 / perSecond - performance.now()))
    }
    sent.bytes += line.written
    line.close()
    if (performance.now() < until) await delay(500)
  }
  return sent
}

// The response begins with 40 for JSON, and holds "sid" for both.
const SOCKET_IO = { request: upgradeRequest(), admitted: /sid[^]*(pingInterval|maxPayload)[^]*sid/ }
/** @type {Record<'json' | 'msgpack', Entry>} */
const ENTRIES = {
  json: {
    ...SOCKET_IO,
    connect: (token) => frame(TEXT, `40{"token":"${token}"}`),
    join: (guid) => ask('doc:join', { guid })
  },
  msgpack: {
    ...SOCKET_IO,
    connect: (token) => frame(BINARY, packet(0, connectData(token))),
    join: (guid) => frame(BINARY, join(guid))
  }
}

/** @param {number} perSecond @param {() => Buffer | Buffer[]} next @param {{ codec?: 'json' | 'msgpack' }} [options] */
const client = (perSecond, next, { codec = 'json' } = {}) => steadyClient(ENTRIES[codec], perSecond, next)

/** @param {string} text below 65,536 bytes @returns {Buffer} msgpack */
function string (text) {
  const head = Buffer.from([0xda, 0, 0])
  head.writeUInt16BE(Buffer.byteLength(text), 1)
  return Buffer.concat([head, Buffer.from(text)])
}
/** @param {string} token */
const connectData = (token) => Buffer.concat([Buffer.from([0x81]), string('token'), string(token)])
/** @param {string} guid */
const join = (guid) =>
  packet(
    2,
    Buffer.concat([Buffer.from([0x92]), string('doc:join'), Buffer.from([0x81]), string('guid'), string(guid)]),
    1
  )

/** @param {Buffer} data msgpack @returns {() => Buffer} */
function msgpackSignal (data) {
  const bytes = frame(BINARY, event('doc:signal', 'own', data))
  return () => bytes
}

/** @param {Buffer} bytes @returns {() => Buffer} */
const same = (bytes) => () => bytes
let count = 0

/** @type {Record<string, Attack>} */
export const ADMITTED = {
  'a million empty maps a second': client(1, msgpackSignal(emptyMaps(1_000_000)), { codec: 'msgpack' }),
  '45,000 empty maps, 20 times a second': client(20, msgpackSignal(emptyMaps(45_000)), { codec: 'msgpack' }),
  '330,000 empty buffers a second': client(1, msgpackSignal(emptyBuffers(330_000)), { codec: 'msgpack' }),
  'maps with arrays as keys': client(1, msgpackSignal(nestedKeys(900, 990_000)), { codec: 'msgpack' }),
  'broad JSON': client(1, same(signal('own', `[${'[],'.repeat(330_000)}0]`))),
  'broad JSON of 45 KB': client(20, same(signal('own', `[${'[],'.repeat(15_000)}0]`))),
  'JSON with many keys': client(
    1,
    same(signal('own', JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`key-${i}`, i])))))
  ),
  'deep JSON': client(1, same(signal('own', nested(490_000)))),
  'a string of 1 MB': client(1, same(signal('own', JSON.stringify('x'.repeat(MB - 1000))))),
  'escapes of 1 MB': client(1, same(signal('own', `"${'\\u00e9'.repeat(160_000)}"`))),
  'signals to 100 members': client(EVENTS, same(signal('crowd', '"noise"'))),
  'signals of 10 KB to 100 members': client(EVENTS, same(signal('crowd', JSON.stringify('x'.repeat(10_000))))),
  'the member list, 100 times a second': client(EVENTS, same(ask('doc:members', { guid: 'crowd', limit: 500 }))),
  'joins with the list of members': client(EVENTS, same(ask('doc:join', { guid: 'crowd', members: true }))),
  'joins and leaves': client(EVENTS / 2, () => [
    ask('doc:join', { guid: 'own', position: { epoch: 'x', offset: 1 } }),
    ask('doc:leave', { guid: 'own' })
  ]),
  'unknown documents': client(EVENTS / 2, () => [
    ask('doc:join', { guid: `new-${++count}` }),
    ask('doc:leave', { guid: `new-${count}` })
  ]),
  'a presence state that changes all the time': client(EVENTS, () =>
    ask('doc:state', { guid: 'crowd', state: { at: ++count, name: 'x'.repeat(1500) } })
  ),
  'records of 10 KB that are kept': client(EVENTS, same(ask('doc:send', { guid: 'crowd', data: 'x'.repeat(10_000) }))),
  'unsigned tokens': client(EVENTS, () =>
    ask('auth:refresh', {
      token: `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"u${++count}"}`).toString('base64url')}.${'x'.repeat(43)}`
    })
  ),
  'unknown events': client(EVENTS, same(frame(TEXT, '421["no-such-event",{}]')))
}

/** Connections of one user, each within the limits of a connection. */
const MANY = 60

/** @param {Attack} attack of one connection @returns {Attack} of many, of the same user */
const many = (attack) => async (target) => {
  const sent = await Promise.all(Array.from({ length: MANY }, () => attack(target)))
  return {
    connections: sent.reduce((sum, { connections }) => sum + connections, 0),
    bytes: sent.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

/** Attacks by one user over many connections. @type {Record<string, Attack>} */
export const ONE_USER = {
  'broad JSON over 60 connections': many(ADMITTED['broad JSON']),
  'a million empty maps a second over 60 connections': many(ADMITTED['a million empty maps a second']),
  'records of 10 KB over 60 connections': many(ADMITTED['records of 10 KB that are kept']),
  'signals to 100 members over 60 connections': many(ADMITTED['signals to 100 members'])
}

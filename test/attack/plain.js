/**
 * Attacks at the door for plain WebSockets, before and after the login: as those at the door of Socket.IO.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { steadyClient } from './admitted.js'
import { emptyMaps, guidOf, nested, nestedKeys, plainMessage, signalOf } from './values.js'
import { BINARY, floodFrames, fragments, frame, hold, keepBusy, PING, PONG, TEXT, upgradeRequest } from './wire.js'

/** @typedef {import('./anonymous.js').Attack} Attack */

const PATH = '/websocket/handshake'
/** Settings of a gateway with this door. */
export const PLAIN_SETTINGS = { LISTENERS: `ws:${PATH}` }
/**
 * Handshakes of clients that log in with their first message.
 * @satisfies {Record<string, { path: string, query: string, headers: string[] }>}
 */
const WAYS = {
  json: { path: PATH, query: '&auth=message', headers: [] },
  msgpack: { path: PATH, query: '&auth=message', headers: ['Sec-WebSocket-Protocol: inkcast.msgpack'] }
}
const PROTOCOL_PING = frame(TEXT, '{"event":"gateway:ping"}')
/** @param {number} count @param {Buffer} bytes */
const times = (count, bytes) => Array.from({ length: count }, () => bytes)

/** @param {string} payload JSON */
const first = (payload) => frame(TEXT, `{"event":"gateway:connect","payload":${payload}}`)
/** @param {Buffer} payload msgpack */
const packedFirst = (payload) => frame(BINARY, plainMessage('gateway:connect', payload, 1))

/** Lines on which no login ever comes. @type {((line: import('./wire.js').Line) => Promise<unknown>)[]} */
const UNFINISHED = [
  (line) => line.write(upgradeRequest(WAYS.json).slice(0, -2)),
  (line) => line.write(upgradeRequest(WAYS.json)),
  (line) => line.write(upgradeRequest(WAYS.msgpack)),
  async (line) => {
    await line.write(upgradeRequest(WAYS.json))
    if (await line.answer(/ 101 /) !== null) await line.write(frame(TEXT, '{"event":', { claimed: 60_000 }))
  },
  async (line) => {
    await line.write(upgradeRequest(WAYS.json))
    if (await line.answer(/ 101 /) !== null) await line.write(frame(TEXT, '{"event":', { fin: false }))
  }
]

/** @param {keyof typeof WAYS} codec @param {Buffer | Buffer[]} bytes @returns {Attack} */
const flood = (codec, bytes) => (target) => floodFrames(target, 4, () => bytes, { ...WAYS[codec], pause: 10 })

/** @type {Record<string, Attack>} */
export const PLAIN_ANONYMOUS = {
  'plain: half handshakes, and WebSockets without a login': (target) =>
    hold(target, 4000, (line, i) => UNFINISHED[i % UNFINISHED.length](line)),
  'plain: first messages of 60 KB that do not end': (target) =>
    hold(target, 4000, async (line) => {
      await line.write(upgradeRequest(WAYS.json))
      if (await line.answer(/ 101 /) !== null)
        await line.write(frame(TEXT, Buffer.alloc(60_000, 'x'), { claimed: 61_000 }))
    }),
  'plain: deep JSON of 60 KB': flood('json', first(`{"token":${nested(29_000)}}`)),
  'plain: broad JSON of 60 KB': flood('json', first(`{"token":[${'[],'.repeat(20_000)}0]}`)),
  'plain: broad JSON of 1 MB': flood('json', first(`{"token":[${'[],'.repeat(300_000)}0]}`)),
  'plain: deep msgpack': flood('msgpack', packedFirst(Buffer.alloc(60_000, 0x91))),
  'plain: broad msgpack of 60 KB': flood('msgpack', packedFirst(emptyMaps(60_000))),
  'plain: msgpack maps with arrays as keys, of 60 KB': flood('msgpack', packedFirst(nestedKeys(900, 60_000))),
  'plain: half a megabyte of frames with one byte': flood('json', Buffer.concat(times(70_000, frame(TEXT, 'x')))),
  'plain: small messages beside the first one': (target) => {
    // the login of the first one is in progress when the others come, in the same packet
    const bytes = Buffer.concat([first('{"token":"x"}'), ...times(2000, PROTOCOL_PING)])
    return floodFrames(target, 4, () => bytes, { ...WAYS.json, pause: 10 })
  },
  'plain: pings of the WebSocket before a login': (target) => {
    const many = Buffer.concat(times(1000, frame(PING)))
    return floodFrames(target, 4, () => many, WAYS.json)
  },
  'plain: pongs before a login': (target) => {
    const many = Buffer.concat(times(2000, frame(PONG)))
    return floodFrames(target, 4, () => many, WAYS.json)
  },
  'plain: messages in 1,023 empty fragments': (target) => {
    const message = fragments(TEXT, 1021)
    return floodFrames(target, 4, () => message, WAYS.json)
  },
  'plain: unsigned tokens of new connections': (target) => {
    const tokens = Array.from({ length: 10 }, (_, i) =>
      `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"u${i}"}`).toString('base64url')}.${'x'.repeat(43)}`)
    let count = 0
    return floodFrames(target, 8, () => first(`{"token":"${tokens[count++ % 10]}"}`), WAYS.json)
  }
}

/** Events per second, slightly below the limit because clocks differ. */
const EVENTS = 95

/** @param {string} event @param {object} payload @param {unknown} [id] */
const ask = (event, payload, id = 1) => frame(TEXT, JSON.stringify({ id, event, payload }))
/** @param {string} guid @param {string} data JSON */
const signal = (guid, data) =>
  frame(TEXT, `{"id":1,"event":"doc:signal","payload":{"guid":"${guid}","event":"noise","data":${data}}}`)

/** @type {import('./admitted.js').Entry} */
const JSON_ENTRY = {
  request: upgradeRequest(WAYS.json),
  connect: (token) => first(`{"token":"${token}"}`),
  admitted: /gateway:connected/,
  join: (guid) => ask('doc:join', { guid })
}
/** Its token is in a header, so that no msgpack has to hold it. @param {Buffer} data msgpack @returns {Attack} */
const packedClient = (data) => (target) => {
  const bytes = frame(BINARY, plainMessage('doc:signal', signalOf('own', data), 1))
  const entry = {
    request: upgradeRequest({
      path: PATH, query: '', headers: [...WAYS.msgpack.headers, `Authorization: Bearer ${target.token}`]
    }),
    connect: () => Buffer.alloc(0),
    admitted: /gateway:connected/,
    join: (/** @type {string} */ of) => frame(BINARY, plainMessage('doc:join', guidOf(of), 1))
  }
  return steadyClient(entry, 1, () => bytes)(target)
}

/** @param {number} perSecond @param {Buffer | Buffer[]} bytes @returns {Attack} */
const client = (perSecond, bytes) => steadyClient(JSON_ENTRY, perSecond, () => bytes)
/** Sent as fast as the gateway takes it. @param {Buffer} message */
const endless = (message) => client(1000, Buffer.concat(times(1000, message)))

/** By an admitted client. @type {Record<string, Attack>} */
export const PLAIN_ADMITTED = {
  'plain: a million empty maps a second': packedClient(emptyMaps(1_000_000)),
  'plain: maps with arrays as keys': packedClient(nestedKeys(900, 990_000)),
  'plain: broad JSON of 1 MB, once a second': client(1, signal('own', `[${'[],'.repeat(330_000)}0]`)),
  'plain: broad JSON of 45 KB': client(20, signal('own', `[${'[],'.repeat(15_000)}0]`)),
  'plain: deep JSON of 1 MB': client(1, signal('own', nested(490_000))),
  'plain: a megabyte beside an acknowledgement': client(1, frame(TEXT, `{"ack":1,"x":"${'x'.repeat(990_000)}"}`)),
  'plain: signals to 100 members': client(EVENTS, signal('crowd', '"noise"')),
  'plain: records of 10 KB that are kept': client(EVENTS, ask('doc:send', { guid: 'crowd', data: 'x'.repeat(10_000) })),
  'plain: wrong ids': client(EVENTS, ask('doc:history', { guid: 'own' }, 'x'.repeat(900))),
  'plain: wrong acknowledgements without an end': endless(frame(TEXT, '{"ack":123}')),
  'plain: pings of the protocol without an end': endless(PROTOCOL_PING),
  'plain: pings of the protocol, and no answer is read': (target) => unreadPings(target)
}

/** Its connections would end with the heartbeat: it closes them itself. @type {Attack} */
const unreadPings = (target) => keepBusy(target, 40, async (line, until) => {
  await line.write(upgradeRequest({ path: PATH, query: '', headers: [`Authorization: Bearer ${target.token}`] }))
  await line.answer(/gateway:connected/)
  line.socket.pause()
  const pings = Buffer.concat(times(400, PROTOCOL_PING))
  while (!line.ended && performance.now() < until) {
    await line.write(pings)
    await delay(400)
  }
})

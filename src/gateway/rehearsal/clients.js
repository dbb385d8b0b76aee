import { createHmac } from 'node:crypto'
import { DEFAULT_SOCKET_PATH } from '../../config/socket-path.js'

/**
 * Messages that the clients of the warm-up send: to Socket.IO's port, and to listeners for devices where the worker has
 * them.
 *
 * @typedef {{ bytes: Buffer, answer: string | Buffer }} Said answer: a part of the response to it
 * @typedef {import('../../config/listeners.js').Listener} Listener
 */

/** Documents of a sandbox; its clients join one each, in turn. */
const DOCUMENTS = 10
/** Lifetime of a token, s. */
const LIFETIME = 3600
/** Of MQTT: a user name, a password, a clean start. */
const CONNECT_FLAGS = 0b1100_0010
/** s */
const KEEP_ALIVE = 25

/**
 * JWTs, RFC 7519. Not by the library: a worker whose tokens are signed with a secret does not load it.
 * @param {string} secret
 * @returns {(claims: Record<string, unknown>) => string}
 */
export function createSigner (secret) {
  const encode = (/** @type {object} */ part) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const head = encode({ alg: 'HS256', typ: 'JWT' })
  return (claims) => {
    const text = `${head}.${encode(claims)}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }
}

/**
 * @param {number} now s since 1970
 * @returns {(i: number, sign: (claims: Record<string, unknown>) => string, listener?: Listener) => Said[]} what client
 *   `i` sends to a listener, by default Socket.IO's
 */
export function saysOf (now) {
  const exp = now + LIFETIME
  return (i, sign, listener) => {
    const token = sign({ ...CLAIMS[i % CLAIMS.length](exp), sub: `warm-up-${i}` })
    const guid = `warm-up-${i % DOCUMENTS}`
    if (listener === undefined) return saysSocketIo(i, token, guid)
    return listener.protocol === 'ws' ? saysPlain(i, token, guid, listener) : saysMqtt(i, token, guid, listener)
  }
}

/** @param {number} i @param {string} token @param {string} guid @returns {Said[]} */
const saysSocketIo = (i, token, guid) => [
  { bytes: upgrade(i, `${DEFAULT_SOCKET_PATH}?EIO=4&transport=websocket`), answer: 'HTTP/1.1 101 ' },
  { bytes: frame(`40${JSON.stringify({ token })}`), answer: '40{' },
  { bytes: frame(`420${JSON.stringify(['doc:join', { guid }])}`), answer: '430[' }
]

/**
 * @param {number} i
 * @param {string} token
 * @param {string} guid
 * @param {Listener} listener
 * @returns {Said[]} the token comes in each place in turn
 */
function saysPlain (i, token, guid, { path }) {
  const join = { bytes: frame(JSON.stringify({ id: 1, event: 'doc:join', payload: { guid } })), answer: '"id":1' }
  const answer = 'gateway:connected'
  const client = `warm-up-${i}`
  const url = `${path}?id=${client}`
  const offer = { 'Sec-WebSocket-Protocol': 'inkcast.json' }
  switch (i % 4) {
    case 0: return [{ bytes: upgrade(i, url, { ...offer, Authorization: `Bearer ${token}` }), answer }, join]
    case 1: {
      const offered = { 'Sec-WebSocket-Protocol': `inkcast.json, inkcast.token.${token}` }
      return [{ bytes: upgrade(i, url, offered), answer }, join]
    }
    case 2: return [{ bytes: upgrade(i, `${url}&token=${token}`), answer }, join]
  }
  const connect = JSON.stringify({ event: 'gateway:connect', payload: { token, client } })
  return [
    { bytes: upgrade(i, `${path}?auth=message`, offer), answer: 'HTTP/1.1 101 ' },
    { bytes: frame(connect), answer },
    join
  ]
}

/**
 * @param {number} i
 * @param {string} token
 * @param {string} guid
 * @param {Listener} listener
 * @returns {Said[]} of MQTT 5 and 3.1.1 in turn, with a clean start: the stub of Redis has no sessions
 */
function saysMqtt (i, token, guid, { over, path }) {
  const isNew = i % 2 === 0
  const none = isNew ? [0] : [] // properties
  const connect = packet(0x10, [
    ...field('MQTT'), isNew ? 5 : 4, CONNECT_FLAGS, 0, KEEP_ALIVE, ...none,
    ...field(`warm-up-${i}`), ...field('device'), ...field(token)
  ])
  const subscribe = packet(0x82, [0, 1, ...none, ...field(`doc/${guid}`), 1])
  const says = [
    { bytes: connect, answer: Buffer.from([0x20]) },
    { bytes: subscribe, answer: Buffer.from([0x90, 3 + none.length, 0, 1, ...none, 1]) }
  ]
  if (over === 'tcp') return says
  return [
    { bytes: upgrade(i, /** @type {string} */ (path), { 'Sec-WebSocket-Protocol': 'mqtt' }), answer: 'HTTP/1.1 101 ' },
    ...says.map(({ bytes, answer }) => ({ bytes: frame(bytes), answer }))
  ]
}

/** @param {string} text @returns {Buffer} with its length before it (MQTT 5, 1.5.4) */
function field (text) {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

/** @param {number} type @param {number[]} rest of a packet, less than 16 KB @returns {Buffer} */
function packet (type, rest) {
  const { length } = rest
  return Buffer.from([type, ...(length < 128 ? [length] : [128 | length & 127, length >> 7]), ...rest])
}

/**
 * Headers of browsers, libraries and proxies, and claims of tokens, of more kinds than V8 specializes code for: the
 * requests of the worker's real clients are unknown.
 */
const HEADERS = [
  {
    Pragma: 'no-cache',
    'Cache-Control': 'no-cache',
    'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)',
    Origin: 'http://127.0.0.1',
    'Accept-Encoding': 'gzip, deflate'
  },
  {
    'User-Agent': 'Mozilla/5.0 (Macintosh)',
    Accept: '*/*',
    'Accept-Language': 'en',
    Origin: 'http://127.0.0.1',
    'Sec-Fetch-Mode': 'websocket'
  },
  { 'Accept-Encoding': 'gzip', 'User-Agent': 'Python/3' },
  { 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Proto': 'https', 'User-Agent': 'Mozilla/5.0 (Windows NT 10.0)' },
  {}
]

/**
 * @param {number} i
 * @param {string} url
 * @param {Record<string, string>} [more] headers
 * @returns {Buffer} a request for a WebSocket
 */
const upgrade = (i, url, more) => Buffer.from(
  [
    `GET ${url} HTTP/1.1`,
    ...Object.entries({
      Host: '127.0.0.1',
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      ...HEADERS[i % HEADERS.length],
      ...more,
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='
    }).map(([name, value]) => `${name}: ${value}`),
    '\r\n'
  ].join('\r\n')
)

/** @type {((exp: number) => Record<string, unknown>)[]} */
const CLAIMS = [
  (exp) => ({ exp }),
  (exp) => ({ iat: exp - LIFETIME, exp }),
  (exp) => ({ name: 'Person', iat: exp - LIFETIME, exp }),
  (exp) => ({ iss: 'person', aud: 'somewhere', iat: exp - LIFETIME, exp, name: 'Person' }),
  () => ({ name: 'Person' })
]

/**
 * @param {string | Buffer} payload a string is ASCII; shorter than 64 KB
 * @returns {Buffer} a masked frame, as clients send them (RFC 6455, 5.2)
 */
function frame (payload) {
  const mask = [1, 2, 3, 4]
  const { length } = payload
  const lengths = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 255]
  const first = typeof payload === 'string' ? 0x81 : 0x82
  return Buffer.from([first, ...lengths, ...mask, ...Buffer.from(payload).map((byte, i) => byte ^ mask[i % 4])])
}

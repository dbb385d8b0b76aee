import { connect } from 'node:net'
import { framings } from './framings.js'
import { seededRandom } from './random.js'

/**
 * Requests that are wrong in every part: the form of the URL, the method, the framing and the form of the headers.
 */

const LONG = 3000

export const TARGETS = [
  '/', '//', '///', '//?', '//#', '/'.repeat(LONG), '/?', '/#', '', '*', '?', '#', '.', 'x', '[', '/[', '//[', '//[::1',
  'http:', 'http:/', 'http://', 'http://[', 'http://[::1', 'http://a b/', 'https://%/', 'localhost:80', 'localhost', ':80',
  'javascript:x', '//evil.test/ready', '//evil.test:99999/', '/%', '/%zz', '/%00', '/%E0%A4%A', '/\\', '/\\\\x', '/\u0001',
  '/\u00fc', '/a;b=c', '/..', '/../../package.json', '/%2e%2e/%2e%2e/package.json', `/${'%25'.repeat(LONG)}`,
  `/${'a/'.repeat(LONG)}`, `/?${'a=b&'.repeat(LONG)}`, '/?__proto__=1', '/__proto__', '/constructor',
  '/socket.io', '/socket.io/', '/socket.io?', '/socket.io//', '/socket.iox', '/socket.io/?EIO=4&transport=polling',
  '/socket.io?EIO=4&transport=polling', '/socket.io/?EIO=%&transport=%', '/socket.io/?EIO=4&transport=__proto__',
  '/socket.io/?EIO=4&transport=polling&sid=__proto__', '/socket.io/?EIO=4&transport=polling&sid=%00',
  '/socket.io/?EIO=4&transport=websocket&sid=constructor', `/socket.io/?EIO=4&transport=polling&sid=${'x'.repeat(LONG)}`,
  '/socket.io/?EIO=4&transport=polling&j=1', '/socket.io/?EIO=3&transport=polling',
  '/metrics?%', '/ready//', '/live?', '/status?after=%', '/status?after=NaN', '/inspect', '/inspect?guid=%00', '/loglevel',
  '/loglevel?x', '/cordon', '/move', '/docs', '/docs/', '/docs//', '/docs/%', '/docs/..%2f', '/docs/images/', '/vendor/',
  '/vendor//', '/health', '/health?%', '/client/%', '/client//', '/documents/%', '/documents/%E0', '/control/', '/control/%',
  '/control//', '/settings.json', '/openapi.json', '/openapi.json%', '/v1/documents/%/broadcast', '/v1/documents//broadcast',
  `/v1/documents/${'x'.repeat(LONG)}/broadcast`, '/v1/batch', '/inkcast.v1.Gateway/Publish', '/alive'
]

const METHODS = [
  'GET', 'GET', 'GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'OPTIONS', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'CONNECT',
  'NOTIFY', 'PROPFIND', 'PRI', 'get', 'G T', '',
  'X'.repeat(LONG), '\u00fc'
]

const HOST = 'Host: localhost'
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']

/** Header lines. */
const HEADERS = [
  [HOST], [], ['Host:'], ['Host: ['], ['Host: a b'], [HOST, 'Host: elsewhere'], ['Host: evil.test'], [HOST, 'no colon'],
  [HOST, ': no name'], [HOST, 'a b: c'], [HOST, 'a\u0000: b'], [HOST, 'a: \u0000'], [HOST, 'a: \u00fc'], [HOST, 'a: b', ' c'],
  [HOST, `a: ${'x'.repeat(20_000)}`], [HOST, ...Array.from({ length: 300 }, (_, i) => `x-${i}: ${i}`)],
  [HOST, '__proto__: x', 'constructor: x'], [HOST, 'Origin: http://['], [HOST, 'Origin: null'], [HOST, 'Origin: //'],
  [HOST, 'Authorization: Bearer'], [HOST, `Authorization: Bearer ${'.'.repeat(LONG)}`], [HOST, 'Authorization: Basic %'],
  [HOST, 'X-Forwarded-For: [, ,]'], [HOST, 'Forwarded: for="['], [HOST, 'Cookie: ='], [HOST, 'Content-Type: ;'],
  [HOST, 'Content-Type: application/json'], [HOST, 'Content-Type: application/json; charset=\u00fc'], [HOST, 'Expect: x'],
  [HOST, 'Accept-Encoding: ,'], [HOST, 'Range: bytes=9-1'], [HOST, 'If-None-Match: "'], [HOST, 'X-Inkcast-Hop: 1.x'],
  [HOST, 'Traceparent: 00-0-0-0'], [HOST, 'Connection: close'], [HOST, 'Connection: ,'], [HOST, ...UPGRADE],
  [HOST, ...UPGRADE, 'Sec-WebSocket-Key: x'], [HOST, ...UPGRADE, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
  [...UPGRADE, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Extensions: ;'],
  [HOST, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'], [HOST, 'Connection: Upgrade', 'Upgrade:'],
  [HOST, 'Connection: Upgrade', 'Upgrade: websocket, h2c'], [HOST, 'Connection: Upgrade', 'Upgrade: TLS/1.0']
]
const VERSIONS = [...Array.from({ length: 20 }, () => 'HTTP/1.1'), 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', '', 'X']

/**
 * @param {number} count at least one for each target
 * @param {number} [seed]
 * @returns {Buffer[]} the same for the same seed
 */
export function malformedRequests (count, seed = 31) {
  const random = seededRandom(seed)
  /** @template T @param {readonly T[]} list @returns {T} */
  const pick = (list) => list[Math.floor(random() * list.length)]
  const bodies = Object.values(framings('GET / HTTP/1.1\r\n\r\n')).concat(Object.values(framings('{"a":')))
  return Array.from({ length: count }, (_, i) => {
    // first each target alone, then everything at once
    const plain = i < TARGETS.length
    const [framing, body] = plain ? [[], ''] : pick(bodies)
    const line = plain ? ['GET', TARGETS[i], 'HTTP/1.1'] : [pick(METHODS), pick(TARGETS), pick(VERSIONS)]
    const headers = plain ? [HOST] : pick(HEADERS)
    return Buffer.from([line.join(' '), ...headers, ...framing, '', body].join('\r\n'), 'latin1')
  })
}

/**
 * Sends each request on a connection of its own, and ends it.
 *
 * @param {import('node:net').NetConnectOpts} address
 * @param {readonly Buffer[]} requests
 * @returns {Promise<Record<string, number>>} number of answers by status; `none`: closed without one
 */
export async function sendAll (address, requests) {
  /** @type {Record<string, number>} */
  const answers = {}
  const queue = requests.values()
  await Promise.all(Array.from({ length: 40 }, async () => {
    for (const request of queue) {
      const first = await answerTo(address, request)
      const status = /^HTTP\/1\.[01] (\d{3}) /.exec(first)?.[1] ?? (first === '' ? 'none' : 'other')
      answers[status] = (answers[status] ?? 0) + 1
    }
  }))
  return answers
}

/**
 * @param {import('node:net').NetConnectOpts} address
 * @param {Buffer} request
 * @returns {Promise<string>} first bytes of its answer
 */
function answerTo (address, request) {
  return new Promise((resolve, reject) => {
    const socket = connect(address)
    let first = ''
    socket.setTimeout(30_000, () => {
      const text = JSON.stringify(request.toString('latin1', 0, 500))
      reject(new Error(`neither an answer to nor the end of ${text}`))
      socket.destroy()
    })
    socket.once('data', (chunk) => {
      first = chunk.toString('latin1', 0, 20)
      socket.destroy()
    })
    // refused: the listener has gone
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'ECONNREFUSED') reject(error)
    })
    socket.on('close', () => resolve(first))
    socket.end(request)
  })
}

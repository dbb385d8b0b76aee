import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { describe, test } from 'node:test'
import { beginsWebSocket, queryOf, readRequest } from '../../../src/transport/engine/request.js'
import { seededRandom } from '../../helpers/random.js'

/** @type {any} */
const socket = {}
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const FIELDS = [
  'Host: x.example:3000',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${KEY}`
]
const URL = '/socket.io/?EIO=4&transport=websocket'

/** @param {string[]} fields @param {string} [line] */
const head = (fields, line = `GET ${URL} HTTP/1.1`) => `${[line, ...fields].join('\r\n')}\r\n\r\n`
/** @param {string | Buffer} bytes */
const read = (bytes) => /** @type {{ request: any, rest: Buffer } | null} */ (
  readRequest(Buffer.from(/** @type {any} */ (bytes), 'latin1'), socket)
)

/** The same request as parsed by Node. @param {string} bytes @returns {Promise<http.IncomingMessage>} */
async function nodes (bytes) {
  const server = http.createServer()
  const upgrade = once(server, 'upgrade')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect(/** @type {net.AddressInfo} */ (server.address()).port, '127.0.0.1')
  client.write(bytes, 'latin1')
  const [request] = await upgrade
  client.destroy()
  server.close()
  return request
}

describe('the request that starts a WebSocket', () => {
  test('is read as Node reads it', async () => {
    const requests = [
      head(FIELDS),
      head(
        [
          'hOsT:x',
          'connection:keep-alive, Upgrade ',
          'UPGRADE: \t WebSocket\t ',
          'Sec-WebSocket-Version:13',
          `sec-websocket-key: ${KEY}`,
          'Cookie: a=b; c="d, e"',
          'Origin: https://x.example',
          'X-Empty:',
          'X-Odd: a:b::c'
        ],
        `GET ${URL}&t=Pq1%20&x=%C3%A9&x=2&a HTTP/1.1`
      )
    ]
    for (const bytes of requests) {
      const expected = await nodes(bytes)
      const { request, rest } = read(bytes) ?? assert.fail('the request was not accepted')
      assert.deepEqual(
        { method: request.method, url: request.url, httpVersion: request.httpVersion, headers: request.headers },
        {
          method: expected.method,
          url: expected.url,
          httpVersion: expected.httpVersion,
          headers: { ...expected.headers }
        }
      )
      assert.equal(rest.length, 0)
      assert.equal(request.connection, socket)
      assert.equal(beginsWebSocket(request), true)
    }
  })

  test('may be followed by more bytes', () => {
    assert.equal(read(`${head(FIELDS)}more`)?.rest.toString(), 'more')
  })

  test('is left to Node when it is unusual in any way', () => {
    const others = [
      '',
      'GET',
      head(FIELDS).slice(0, -1),
      head(FIELDS, `POST ${URL} HTTP/1.1`),
      head(FIELDS, `GET ${URL} HTTP/1.0`),
      head(FIELDS, `GET  ${URL} HTTP/1.1`),
      head(FIELDS, `get ${URL} HTTP/1.1`),
      head(FIELDS, `GET /a b HTTP/1.1`),
      head(FIELDS, `GET /a\tb HTTP/1.1`),
      head(FIELDS, `GET /\x80 HTTP/1.1`),
      head(FIELDS, 'GET  HTTP/1.1'),
      head([]),
      head(FIELDS.slice(0, 2)),
      head([...FIELDS, 'host: again']),
      head([...FIELDS, ' folded']),
      head([...FIELDS, 'no colon']),
      head([...FIELDS, 'a b: c']),
      head([...FIELDS, 'a : c']),
      head([...FIELDS, ': c']),
      head([...FIELDS, 'a: b\nc: d']),
      head([...FIELDS, 'a: b\rc']),
      head([...FIELDS, 'a: \0']),
      head([...FIELDS, 'a: \x80']),
      head([...FIELDS, '__proto__: a']),
      head([...FIELDS, 'constructor: a']),
      head([...FIELDS, 'Content-Length: 0']),
      head([...FIELDS, 'Transfer-Encoding: chunked']),
      head([...FIELDS, 'Expect: 100-continue']),
      head([...FIELDS, `a: ${'b'.repeat(8192)}`])
    ]
    for (const bytes of others) assert.equal(read(bytes), null, JSON.stringify(bytes.slice(0, 300)))
  })

  test('is left to Engine.IO when it asks for anything but a new session on a WebSocket', () => {
    /** @param {string[]} fields @param {string} [url] */
    const begins = (fields, url = URL) =>
      beginsWebSocket((read(head(fields, `GET ${url} HTTP/1.1`)) ?? assert.fail('not read')).request)
    assert.equal(begins(FIELDS), true)
    assert.equal(begins(FIELDS, `${URL}&sid=`), true)
    for (const url of [
      '/socket.io/',
      '/socket.io/?EIO=3&transport=websocket',
      '/socket.io/?EIO=4&transport=polling',
      '/socket.io/?EIO=4&transport=webtransport',
      `${URL}&sid=x`
    ])
      assert.equal(begins(FIELDS, url), false, url)
    const other = (/** @type {number} */ i, /** @type {string[]} */ ...fields) =>
      FIELDS.flatMap((field, k) => (k === i ? fields : field))
    for (const fields of [
      other(0),
      other(1),
      other(1, 'Connection: close'),
      other(1, 'Connection: upgraded'),
      other(1, 'Connection: x-upgrade'),
      other(1, 'Connection: keep-alive, no-upgrade'),
      other(1, 'Connection: foo: Upgrade'),
      other(1, 'Connection: upgrade x'),
      other(2, 'Upgrade: h2c'),
      other(3),
      other(3, 'Sec-WebSocket-Version: 8'),
      other(4),
      other(4, 'Sec-WebSocket-Key: short'),
      other(4, `Sec-WebSocket-Key: ${KEY}=`)
    ])
      assert.equal(begins(fields), false, fields.join())
  })
})

test('a query is parsed as by URLSearchParams', () => {
  const random = { below: ((next) => (/** @type {number} */ limit) => Math.floor(next() * limit))(seededRandom(7)) }
  const parts = ['a', 'b', '=', '&', '%20', '+', '%', '#', 'é', '__proto__', 'EIO', '?', '']
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: random.below(8) }, () => parts[random.below(parts.length)]).join('')
    assert.deepEqual(
      Object.entries(queryOf(`/?${text}`)),
      Object.entries(Object.fromEntries(new URLSearchParams(text))),
      text
    )
  }
  assert.deepEqual(queryOf('/'), {})
})

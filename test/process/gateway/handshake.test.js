import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'

const server = await startEmbedded({ after })
const { url, gateway } = server

test('the upgrade response and the first packet arrive in one piece', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const piece = new Promise((resolve) => socket.once('data', resolve))
  socket.write(
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
    'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
  )
  assert.match((await piece).toString('latin1'), /^HTTP\/1.1 101 [^]*\r\n\r\n..[^]*0\{"sid":"[\w-]{20}"/)
  socket.destroy()
})

describe('content of socket.handshake for an extension', () => {
  /** @type {any} */
  let seen
  gateway.io.use((socket, next) => {
    if (socket.handshake.headers['x-hint'] === undefined) return next()
    const { headers, query, url, secure, xdomain, issued, time, address, auth } = socket.handshake
    seen = { headers, query, url, secure, xdomain, issued, time, address, auth }
    next()
  })

  for (const transport of /** @type {const} */ (['websocket', 'polling'])) {
    test(`${transport}: as documented by Socket.IO`, async (t) => {
      const begin = Date.now()
      await connectClient(t, url, {
        transports: [transport],
        auth: { client: 'tab' },
        extraHeaders: { 'x-hint': 'yes' }
      })
      assert.equal(seen.headers['x-hint'], 'yes')
      assert.equal(seen.query.transport, transport)
      assert.match(seen.url, /^\/socket\.io\/\?.*transport=/)
      assert.deepEqual([seen.secure, seen.xdomain, seen.auth], [false, false, { client: 'tab' }])
      assert.ok(seen.issued >= begin && seen.issued <= Date.now())
      assert.ok(Math.abs(Date.parse(seen.time) - seen.issued) < 2000)
      assert.match(seen.address, /^(::ffff:)?127\.0\.0\.1$/)
    })
  }
})

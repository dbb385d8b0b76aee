import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlainSocket } from '../../../src/transport/plain/plain-socket.js'
import { plainMessageOf } from '../../../src/wire/plain-message.js'

function open () {
  /** @type {string[]} */
  const written = []
  const netSocket = /** @type {any} */ ({
    writableLength: 0, destroyed: false, writableEnded: false,
    on () { return netSocket },
    write (/** @type {Buffer} */ bytes) { written.push(bytes.toString('latin1')) },
    end (/** @type {Buffer} */ bytes) {
      netSocket.write(bytes)
      netSocket.writableEnded = true
    }
  })
  const server = /** @type {any} */ ({
    maxBytes: 100, listener: { name: 'ws:/x' }, closing: { add () {} }, ended () {}, onEnd () {}
  })
  const request = /** @type {any} */ ({ url: '/x', headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' } })
  const session = new PlainSocket('id', server, request, netSocket, 'json')
  session.writesLater(session.answer())
  return { session, written }
}

const message = plainMessageOf('json', { event: 'gateway:connected' }).frame

test('the answer to the request is written with the first message, once', () => {
  const { session, written } = open()
  assert.deepEqual(written, [])
  session.write(undefined, { wsPreEncodedFrame: [message] })
  session.write(undefined, { wsPreEncodedFrame: [message] })
  assert.equal(written.length, 2)
  assert.match(written[0], /^HTTP\/1\.1 101 [^]+\r\n\r\n.{2}\{"event":"gateway:connected"\}$/)
  assert.equal(written[1], message.toString('latin1'))
})

test('a session that ends without a message is answered before its close frame', () => {
  const { session, written } = open()
  session.close(true, 1013, 'draining')
  assert.match(written.join(''), /^HTTP\/1\.1 101 [^]+\r\n\r\n\x88[^]{3}draining$/)
  assert.equal(written.join('').match(/HTTP/g)?.length, 1)
})

test('the reason of an end is written together with the close frame, after what was written before', () => {
  const { session, written } = open()
  session.write(undefined, { wsPreEncodedFrame: [message] })
  session.writesLater(plainMessageOf('json', { event: 'gateway:disconnect' }).frame)
  session.close(false, 1008, 'kicked')
  assert.equal(written.length, 2)
  assert.match(written[1], /^.{2}\{"event":"gateway:disconnect"\}\x88[^]{3}kicked$/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import zlib from 'node:zlib'
import { frame, Line, TEXT, upgradeRequest } from '../../attack/wire.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const { url } = await startEmbedded({ after }, { COMPRESS_FROM: '1000' })
const port = Number(new URL(url).port)
const KB = 1024

/** @param {string | Buffer} text */
const deflated = (text) =>
  zlib.deflateRawSync(Buffer.from(text), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).subarray(0, -4)

/** @param {Line} line @param {RegExp} pattern of what it receives before it ends */
async function answers (line, pattern) {
  await waitFor(() => line.ended || pattern.test(line.tail), { message: () => line.tail })
  assert.match(line.tail, pattern)
}

/**
 * A connection without a token that sends one compressed message.
 * @param {import('node:test').TestContext} t
 * @param {Buffer} payload
 * @returns {Promise<Line>} when the gateway has opened the session, and has the message
 */
async function send (t, payload) {
  const line = new Line({ port })
  t.after(() => line.close())
  await line.write(upgradeRequest({ headers: ['Sec-WebSocket-Extensions: permessage-deflate'] }))
  await answers(line, /"sid"/)
  await line.write(frame(TEXT, payload, { compressed: true }))
  return line
}

/** Close frame, unmasked. @param {number} code */
const closed = (code) => new RegExp(`\\x88.${Buffer.from([code >> 8, code & 255]).toString('latin1').replaceAll(/[^]/g,
  (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)}`, 's')

describe('a compressed message before the client is admitted', () => {
  const connect = (/** @type {number} */ length) => `40{"unused":"${'x'.repeat(length)}"}`
  for (const [name, payload, answer] of /** @type {[string, Buffer, RegExp][]} */ ([
    ...[0, 1, 100, 10 * KB, 60 * KB].map((length) => [`${length} bytes`, deflated(connect(length)), /40\{"sid"/]),
    ['white space', deflated(connect(0) + ' '.repeat(30 * KB)), /40\{"sid"/],
    ...[65 * KB, 1024 * KB, 30 * 1024 * KB].map((length) =>
      [`${length} bytes, above the limit`, deflated(Buffer.alloc(length, '3')), closed(1009)])
  ])) {
    test(`is inflated without a stream of zlib: ${name}`, async (t) => {
      const streams = t.mock.method(zlib, 'createInflateRaw')
      const line = await send(t, payload)
      await answers(line, answer)
      assert.equal(streams.mock.callCount(), 0)
    })
  }

  test('that is damaged closes the connection with the code of the protocol', async (t) => {
    const line = await send(t, Buffer.from('ffffffffff', 'hex'))
    await answers(line, closed(1007))
  })

  test('in several frames of one packet is answered in order', async (t) => {
    const line = new Line({ port })
    t.after(() => line.close())
    await line.write(upgradeRequest({ headers: ['Sec-WebSocket-Extensions: permessage-deflate'] }))
    await answers(line, /"sid"/)
    const ask = (/** @type {number} */ id) => frame(TEXT, deflated(`42${id}["gateway:check",{}]`), { compressed: true })
    await line.write(Buffer.concat(['3', '3', connect(9)].map((text) => frame(TEXT, deflated(text), { compressed: true }))))
    await answers(line, /40\{"sid"/)
    await line.write(Buffer.concat([1, 2, 3].map(ask)))
    await answers(line, /431\[.*432\[.*433\[/s)
    line.close()
    await once(line.socket, 'close')
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import WebSocket from 'ws'
import { entry } from '../../contract/bus-fixture.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const COMPRESSING = { COMPRESS_FROM: '1000' }
const LARGE = 'Grüße, 世界. '.repeat(200)

/**
 * A member of a document that counts the bytes received by its socket.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 * @param {WebSocket.ClientOptions['perMessageDeflate']} perMessageDeflate
 */
async function member (t, url, perMessageDeflate) {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`, { perMessageDeflate })
  t.after(() => ws.terminate())
  ws.on('error', () => {})
  /** @type {string[]} */
  const received = []
  ws.on('message', (data) => received.push(String(data)))
  await once(ws, 'open')
  ws.send('40{"documents":{"doc":null}}')
  await waitFor(() => received.some((text) => text.includes('doc:joined')), { message: () => received })
  received.length = 0
  /** @type {Buffer[]} */
  const chunks = []
  const { _socket: socket } = /** @type {any} */ (ws)
  socket.prependListener('data', (/** @type {Buffer} */ chunk) => chunks.push(Buffer.from(chunk)))
  return { ws, received, bytes: () => Buffer.concat(chunks) }
}

describe('compression', () => {
  test('creates one frame for all members that negotiated it; others get the plain one', async (t) => {
    const server = await startEmbedded(t, COMPRESSING)
    const compressed = [
      await member(t, server.url, true),
      await member(t, server.url, true),
      await member(t, server.url, { clientMaxWindowBits: 10 })
    ]
    const plain = [await member(t, server.url, false), await member(t, server.url, { serverMaxWindowBits: 9 })]
    const all = [...compressed, ...plain]
    // single records, and batches in one turn
    for (const texts of [[LARGE], [1, LARGE, 2, LARGE]])
      server.gateway.bus.publish(texts.map((text, i) => entry('doc', text, { traceId: `trace-${i}` })))
    await waitFor(() => all.every(({ received }) => received.length === 5), {
      message: () => all.map(({ received }) => received.length)
    })
    for (const { received } of all)
      assert.deepEqual(
        received.map((text) => JSON.parse(text.slice(2))[1]),
        [LARGE, 1, LARGE, 2, LARGE]
      )
    for (const { bytes } of compressed) assert.ok(bytes().equals(compressed[0].bytes()))
    for (const { bytes } of plain) assert.ok(bytes().equals(plain[0].bytes()))
    assert.equal(compressed[0].bytes()[0], 0xc1)
    assert.equal(plain[0].bytes()[0], 0x81)
    assert.ok(
      compressed[0].bytes().length < plain[0].bytes().length / 5,
      `${compressed[0].bytes().length} of ${plain[0].bytes().length} bytes`
    )
    assert.deepEqual(compressed.map(({ ws }) => ws.extensions), Array(3).fill('permessage-deflate'))
  })

  test('is off by default', async (t) => {
    const server = await startEmbedded(t)
    const { ws } = await member(t, server.url, true)
    assert.equal(ws.extensions, '')
  })

  test('is transparent to stock clients: both directions, attachments, acknowledgements, Socket.IO\'s own packets', async (t) => {
    const server = await startEmbedded(t, COMPRESSING)
    const kinds = /** @type {const} */ (['json', 'msgpack']).flatMap((codec) =>
      [['websocket'], ['polling'], ['polling', 'websocket']].map((transports) => ({ codec, transports }))
    )
    const clients = await Promise.all(kinds.map((kind) => connectClient(t, server.url, kind)))
    await waitFor(() => clients.every(({ io }, i) => io.engine.transport.name === kinds[i].transports.at(-1)), {
      message: 'the upgrades'
    })
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'doc' })).ok, true)
    server.gateway.bus.publish([entry('doc', LARGE), entry('doc', 1), entry('doc', LARGE)])
    await waitFor(() => clients.every(({ received }) => received.length === 3), {
      message: () => clients.map(({ received }) => received.length)
    })
    server.gateway.io.emit('own', { bytes: Buffer.alloc(5000, 'own'), LARGE })
    await waitFor(() => clients.every(({ received }) => received.length === 4), {
      message: () => clients.map(({ received }) => received.length)
    })
    // Stock clients compress messages above 1 KB.
    for (const client of clients)
      assert.equal(
        (await client.ask('doc:signal', { guid: 'doc', event: 'signal', data: { LARGE, bytes: Buffer.alloc(3000) } }))
          .ok,
        true
      )
    await waitFor(() => clients.every(({ received }) => received.length === 4 + clients.length - 1), {
      message: () => clients.map(({ received }) => received.length)
    })
    for (const [i, { received }] of clients.entries()) {
      assert.deepEqual(
        received.slice(0, 4).map(({ payload }) => payload),
        [LARGE, 1, LARGE, { bytes: Buffer.alloc(5000, 'own'), LARGE }],
        JSON.stringify(kinds[i])
      )
    }
  })

  test('applies the same input limits as to plain messages', async (t) => {
    const server = await startEmbedded(t, { ...COMPRESSING, MAX_RECORD_BYTES: '1000' })
    const { ws } = await member(t, server.url, { threshold: 0 })
    const closed = once(ws, 'close')
    // compressed to some hundred bytes
    ws.send(`42["doc:signal",{"guid":"doc","event":"e","data":"${'x'.repeat(100_000)}"}]`)
    assert.equal((await closed)[0], 1009)

    const other = await member(t, server.url, { threshold: 0 })
    const otherClosed = once(other.ws, 'close')
    for (let i = 0; i < 4; i++) other.ws.send('x'.repeat(10_000), { fin: i === 3 })
    assert.equal((await otherClosed)[0], 1009)
  })
})

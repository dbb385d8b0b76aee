import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import { connectClient } from '../../helpers/clients.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { startEmbedded } from '../../helpers/embedded.js'

const MAX_RECORD_BYTES = 65_536
/** The gateway's limit in its handshake: a value plus overhead. */
const MAX_PAYLOAD = MAX_RECORD_BYTES + 16_384

const { url } = await startEmbedded({ after }, { MAX_RECORD_BYTES: String(MAX_RECORD_BYTES) })
const kinds = [
  { transports: ['websocket'] },
  { transports: ['polling'] },
  { transports: ['websocket'], parser: msgpackParser },
  { transports: ['polling'], parser: msgpackParser }
]

describe('a value that is too large', () => {
  for (const options of kinds) {
    const name = `${options.transports[0]}, ${options.parser === undefined ? 'JSON' : 'msgpack'}`
    test(`rejects with value_too_large, without side effects: ${name}`, async (t) => {
      const client = startClient(t, url, options)
      const doc = await openDocument(client, `${name} doc`, { state: { line: 1 }, echo: true })
      // values that the gateway refuses, that would close the connection, and that are too large in UTF-8 only
      const values = [
        'x'.repeat(MAX_RECORD_BYTES),
        'x'.repeat(MAX_PAYLOAD + 1),
        '世'.repeat(MAX_PAYLOAD / 3 + 1),
        new Uint8Array(MAX_PAYLOAD + 1)
      ]
      for (const value of values) await assert.rejects(doc.send(value), { code: 'value_too_large', retryable: false })
      assert.throws(() => doc.signal('cursor', values[1]), { code: 'value_too_large', retryable: false })
      await assert.rejects(doc.setState({ text: values[1] }), { code: 'value_too_large', retryable: false })
      await assert.rejects(client.open('other', { state: { text: values[1] } }), {
        code: 'value_too_large',
        retryable: false
      })
      await doc.send('last')
      await doc.has('last')
      assert.deepEqual(doc.seen, ['last'])
      assert.deepEqual(client.states, [['connected', undefined]])
      assert.deepEqual(doc.presence.get([...doc.presence.keys()][0])?.state, { line: 1 })
    })
  }

  test('closes the connection of a client that sends it anyway, with a code and a reason', async (t) => {
    const client = await connectClient(t, url)
    const closed = client.next('disconnect')
    client.emit('doc:send', { guid: 'doc', data: 'x'.repeat(MAX_PAYLOAD) })
    const [, { context }] = await closed
    assert.deepEqual([context.code, context.reason], [1009, `message is larger than ${MAX_PAYLOAD} bytes`])
  })
})

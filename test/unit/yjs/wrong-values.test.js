import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
// loaded on demand
import '../../../client/document/begin.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/** What is no Yjs document, from services and from other pages: each is an error, and stops nothing. */

/**
 * A provider whose document is joined.
 * @param {import('node:test').TestContext} t
 * @param {any} load
 */
async function openProvider (t, load) {
  const warn = t.mock.method(console, 'warn', () => {})
  const { client, socket } = scriptedClient(t)
  const doc = new Y.Doc()
  const provider = new InkcastProvider(client, 'doc', doc, { load, presence: false })
  t.after(() => provider.destroy())
  /** @type {any[]} */
  const errors = []
  provider.on('error', (error) => { errors.push(error) })
  await settle()
  socket.accepts()
  socket.tells('doc:joined', { guid: 'doc', position: { epoch: 'e', offset: 5 }, recovered: false })
  // a request of a URL takes several turns
  for (let i = 0; i < 20 && errors.length === 0 && provider.document === null; i++) await settle()
  return { provider, socket, doc, errors, warn }
}

const NO_BYTES = ['text', '', 5, null, undefined, true, {}, { 0: 1, 1: 2 }, [1, 2, 3], new Date(0)]

describe('a record that is no bytes', () => {
  for (const payload of NO_BYTES) {
    test(`but ${JSON.stringify(payload)} is a bad_update, and the next one is applied`, async (t) => {
      const { provider, socket, doc, errors } = await openProvider(t, async () => ({ update: null }))
      await new Promise((resolve) => setTimeout(resolve)) // the provider listens
      const other = new Y.Doc()
      other.getText('text').insert(0, 'right')
      const tell = (/** @type {unknown} */ value, /** @type {number} */ offset) =>
        socket.tells('yjs', value, { guid: 'doc', offset, traceId: 't', ts: 0 })
      tell(payload, 6)
      assert.deepEqual(errors.map(({ code }) => code), ['bad_update'])
      tell(Y.encodeStateAsUpdate(other), 7)
      assert.deepEqual([doc.getText('text').toString(), errors.length, provider.shouldConnect], ['right', 1, true])
    })
  }
})

describe('a service', () => {
  for (const update of NO_BYTES.filter((value) => value !== null && value !== undefined)) {
    test(`whose document is ${JSON.stringify(update)} is an error, and is asked again`, async (t) => {
      const { provider, errors, warn } = await openProvider(t, async () => ({ update }))
      assert.deepEqual(errors.map(({ code, retryable }) => [code, retryable]), [['load_failed', true]])
      assert.match(errors[0].message, /`update` must be bytes/)
      assert.deepEqual([provider.status, warn.mock.callCount()], ['connecting', 1])
    })
  }

  for (const [name, load] of /** @type {[string, any][]} */ ([
    ['that is down', 'http://127.0.0.1:1/doc'],
    ['that throws', () => { throw new Error('down') }],
    ['that rejects', async () => { throw new Error('down') }],
    ['without an answer', async () => undefined],
    ['whose position is a text', async () => ({ update: null, position: { epoch: 'e', offset: '5' } })]
  ])) {
    test(`${name} is an error at the first time, and the provider keeps trying`, async (t) => {
      const { provider, errors, warn } = await openProvider(t, load)
      for (let i = 0; i < 200 && errors.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 5))
      assert.deepEqual(errors.map(({ code, retryable }) => [code, retryable]), [['load_failed', true]])
      assert.deepEqual([provider.status, provider.shouldConnect, warn.mock.callCount()], ['connecting', true, 1])
    })
  }

  for (const load of [null, 5, {}, [], true]) {
    test(`that is ${JSON.stringify(load)} is refused`, (t) => {
      const { client } = scriptedClient(t)
      assert.throws(() => new InkcastProvider(client, 'doc', new Y.Doc(), { load: /** @type {any} */ (load) }), {
        name: 'TypeError', message: /^the option `load` must be the URL/
      })
    })
  }
})

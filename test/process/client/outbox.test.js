import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { memoryStore } from '../../../client/outbox/memory-store.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'

const server = await startEmbedded({ after }, { MAX_EVENTS_PER_SECOND: '10000' })
const fresh = () => `doc-${randomBytes(6).toString('hex')}`

test('edits that are queued while the connection breaks arrive once and in order', async (t) => {
  const guid = fresh()
  const reader = await openDocument(startClient(t, server.url), guid)
  const writer = startClient(t, server.url, { outbox: { user: 'ada' } })
  const doc = await openDocument(writer, guid)
  /** @type {number[]} */
  const pending = []
  doc.on('doc:pending', (list) => { pending.push(list.length) })
  const accepted = []
  for (let i = 1; i <= 300; i++) {
    accepted.push(doc.send(i, { queue: true }))
    if (i % 50 === 0) {
      writer.drop(1)
      await writer.reaches('connected')
    }
  }
  await Promise.all(accepted)
  await reader.has(300)
  assert.deepEqual(reader.seen, Array.from({ length: 300 }, (_, i) => i + 1))
  assert.ok(Math.max(...pending) > 10 && pending.at(-1) === 0, `pending: ${pending}`)
  assert.deepEqual(doc.pending, [])
})

test('edits of a document that was closed are sent when it is opened again, of this user only', async (t) => {
  const guid = fresh()
  const store = memoryStore()
  const reader = await openDocument(startClient(t, server.url), guid)
  const ada = startClient(t, server.url, { outbox: { user: 'ada', store } })
  const doc = await openDocument(ada, guid)
  ada.drop(60_000)
  const sent = doc.send('kept', { queue: true })
  const rejected = assert.rejects(sent, { code: 'closed' })
  await waitFor(() => doc.pending.length === 1)
  doc.close()
  await rejected
  ada.close()
  const bob = await openDocument(startClient(t, server.url, { outbox: { user: 'bob', store } }), guid)
  await bob.send('from bob', { queue: true })
  assert.deepEqual(bob.pending, [])
  await openDocument(startClient(t, server.url, { outbox: { user: 'ada', store } }), guid)
  await reader.has('kept')
  assert.deepEqual(reader.seen, ['from bob', 'kept'])
})

test('an edit that the gateway refuses is dropped, and told', async (t) => {
  const client = startClient(t, server.url, { outbox: { user: 'ada' } })
  const doc = await openDocument(client, fresh())
  /** @type {unknown[]} */
  const dropped = []
  doc.on('doc:dropped', ({ data }, { code }) => { dropped.push([data, code]) })
  await assert.rejects(doc.send('no', { event: 'doc:joined', queue: true }), { code: 'reserved_event' })
  assert.deepEqual(dropped, [['no', 'reserved_event']])
  await doc.send('yes', { queue: true })
})

test('an edit of an earlier version that the gateway could not decode is dropped with bad_value, and holds back no other', async (t) => {
  for (const options of [{}, { transports: ['polling'] }]) {
    const guid = fresh()
    const store = memoryStore()
    const key = JSON.stringify([server.url, 'ada', guid])
    const bytes = () => new Uint8Array([1])
    const values = [
      Array.from({ length: 11 }, bytes),
      { bytes: bytes(), forged: { _placeholder: true, num: 7 } },
      Array.from({ length: 300 }).reduce((value) => [value], 1)
    ]
    for (const [i, data] of values.entries()) {
      await store.add(key, '1-of-an-earlier-page', { seq: 2 * i + 1, data })
      await store.add(key, '1-of-an-earlier-page', { seq: 2 * i + 2, data: `after ${i}` })
    }
    const reader = await openDocument(startClient(t, server.url), guid)
    const client = startClient(t, server.url, { ...options, outbox: { user: 'ada', store } })
    const doc = await client.open(guid, { offline: true })
    /** @type {string[]} */
    const dropped = []
    doc.on('doc:dropped', (_, { code }) => { dropped.push(code) })
    await doc.send('own', { queue: true })
    await reader.has('own')
    assert.deepEqual(reader.seen, ['after 0', 'after 1', 'after 2', 'own'])
    assert.deepEqual(dropped, ['bad_value', 'bad_value', 'bad_value'])
    assert.deepEqual(client.lastingStates(), [['connected', undefined]])
    await waitFor(async () => (await store.load(key)).size === 0)
  }
})

test('an outbox whose storage refuses rejects with storage_failed, at each step', async (t) => {
  const refuse = () => Promise.reject(new Error('of the browser'))
  for (const broken of [{ load: refuse }, { add: refuse }, { load: refuse, add: refuse, remove: refuse }]) {
    const store = { ...memoryStore(), ...broken }
    const client = startClient(t, server.url, { outbox: { user: 'ada', store } })
    const doc = await client.open(fresh())
    for (let i = 0; i < 2; i++) {
      await assert.rejects(doc.send(i, { queue: true }), (/** @type {any} */ error) =>
        error.name === 'ClientError' && error.code === 'storage_failed' && error.cause.message === 'of the browser')
    }
    assert.deepEqual(doc.pending, [])
    await doc.send('without the outbox')
  }
})

test('an outbox whose code could not be loaded is loaded when the document is joined', async (t) => {
  const guid = fresh()
  const reader = await openDocument(startClient(t, server.url), guid)
  // the network fails once
  const loader = `
    let failures = 1
    export async function resolve (name, context, next) {
      if (name.endsWith('outbox/index.js') && failures-- > 0) throw new Error('no network')
      return next(name, context)
    }`
  const page = `
    import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(loader)}))
    const { connect } = await import(${JSON.stringify(new URL('../../../client/index.js', import.meta.url))})
    let log
    const failed = new Promise((resolve) => { log = ({ what, detail }) => { if (what === 'outbox failed') resolve(detail) } })
    const client = connect(${JSON.stringify(server.url)}, { outbox: { user: 'ada' }, log })
    const doc = await client.open(${JSON.stringify(guid)})
    console.log(await failed)
    await doc.send('kept', { queue: true })
    client.close()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', page], { timeout: 30_000 })
  assert.equal(stdout.trim(), 'Error: no network')
  await reader.has('kept')
})

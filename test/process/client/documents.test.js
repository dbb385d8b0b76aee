import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import msgpackParser from 'socket.io-msgpack-parser'
import { entry } from '../../contract/bus-fixture.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { HISTORY_SIZE: '50' })
const { url, gateway } = server

/** Time without a connection, ms. */
const AWAY = 60_000

/** @param {string} guid @param {any} value @param {Parameters<typeof entry>[2]} [fields] */
const publish = (guid, value, fields) => gateway.bus.publish([entry(guid, value, fields)])

describe('an open document', () => {
  test('gets published records with their meta, by event name', async (t) => {
    const client = startClient(t, url)
    const doc = await client.open('minutes')
    /** @type {any[]} */
    const got = []
    doc.on('message', (payload, meta) => got.push([payload, meta]))
    doc.on('edit', (payload) => got.push(payload))
    await publish('minutes', { text: 'one' })
    await publish('minutes', 'two', { event: 'edit' })
    await waitFor(() => got.length === 2)
    assert.deepEqual(got[0][0], { text: 'one' })
    assert.equal(got[0][1].guid, 'minutes')
    assert.equal(got[0][1].offset, 1)
    assert.equal(got[1], 'two')
    assert.equal(doc.position?.offset, 2)
    await waitFor(() => client.transport === 'websocket')
    assert.deepEqual(client.lastingStates(), [['connected', undefined]])
  })

  test('gets missed records after a reconnect, once and in order', async (t) => {
    const client = startClient(t, url)
    const doc = await openDocument(client, 'lost')
    await publish('lost', 1)
    await doc.has(1)
    client.drop(AWAY)
    await client.reaches('reconnecting')
    for (const i of [2, 3, 4]) await publish('lost', i)
    client.connect()
    await doc.has(4)
    await publish('lost', 5)
    await doc.has(5)
    assert.deepEqual(doc.seen, [1, 2, 3, 4, 5])
    assert.deepEqual(client.lastingStates(), [
      ['connected', undefined],
      ['reconnecting', 'disconnected'],
      ['connected', undefined]
    ])
  })

  test('gets a resync if the log does not reach back, and later records are queued until the reload', async (t) => {
    const client = startClient(t, url)
    const doc = await client.open('trimmed')
    /** @type {any[]} */
    const seen = []
    /** @type {() => void} */
    let loaded = () => {}
    doc.on('message', (payload) => { seen.push(payload) })
    doc.on('resync', ({ reason, position }) => {
      seen.push(`resync ${reason} ${position?.offset}`)
      return new Promise((resolve) => { loaded = () => resolve(undefined) })
    })
    client.drop(AWAY)
    await client.reaches('reconnecting')
    for (let i = 1; i <= 60; i++) await publish('trimmed', i)
    client.connect()
    await waitFor(() => seen.length > 0)
    await publish('trimmed', 61)
    await waitFor(() => doc.position?.offset === 61)
    assert.deepEqual(seen, ['resync trimmed 60'])
    loaded()
    await waitFor(() => seen.length === 2)
    assert.deepEqual(seen, ['resync trimmed 60', 61])
  })

  test('starts at the position of a snapshot, and queues records until there is a listener', async (t) => {
    const first = await openDocument(startClient(t, url), 'snapshot')
    for (const i of [1, 2, 3, 4]) await publish('snapshot', i)
    await first.has(4)
    const position = { epoch: String(first.position?.epoch), offset: 2 }
    const later = await openDocument(startClient(t, url), 'snapshot', { position })
    await later.has(4)
    assert.deepEqual(later.seen, [3, 4])
  })

  test('can be opened twice, closed and opened again at once, and is left after the last close', async (t) => {
    const client = startClient(t, url)
    const [one, two] = await Promise.all([openDocument(client, 'twice'), openDocument(client, 'twice')])
    await publish('twice', 1)
    await Promise.all([one.has(1), two.has(1)])
    one.close()
    await publish('twice', 2)
    await two.has(2)
    assert.deepEqual(one.seen, [1])
    const position = two.position
    two.close()
    const again = await openDocument(client, 'twice', { position: { epoch: String(position?.epoch), offset: 0 } })
    await again.has(2)
    assert.deepEqual(again.seen, [1, 2])
    again.close()
    await waitFor(async () => /inkcast_documents(\{[^}]*\})? 0/.test(await metricsOf('inkcast_documents')))
  })

  test('sends and signals, and gets its own records only on request', async (t) => {
    const [ada, bob] = [startClient(t, url), startClient(t, url, { parser: msgpackParser })]
    const [docOfAda, docOfBob] = await Promise.all([openDocument(ada, 'talk'), openDocument(bob, 'talk')])
    const echoing = await openDocument(ada, 'talk', { echo: true })
    /** @type {any[]} */
    const cursors = []
    docOfAda.on('cursor', (payload, { from }) => cursors.push([payload, from]))
    const { traceId } = await docOfAda.send('from ada')
    assert.match(traceId, /^[0-9a-f]{32}$/)
    await Promise.all([docOfBob.has('from ada'), echoing.has('from ada')])
    assert.equal(docOfBob.signal('cursor', { line: 3 }), true)
    await docOfBob.send('from bob')
    await docOfAda.has('from bob')
    assert.deepEqual(docOfAda.seen, ['from bob'])
    assert.deepEqual(cursors, [[{ line: 3 }, bob.connectionId]])
    assert.equal(docOfAda.position?.offset, 2)
  })

  test('is excluded from its own records by its stable id, also after a reconnect', async (t) => {
    const client = startClient(t, url, { id: 'the-tab-of-ada' })
    const doc = await openDocument(client, 'own')
    client.drop(AWAY)
    await client.reaches('reconnecting')
    await publish('own', 'mine', { except: ['the-tab-of-ada'] })
    await publish('own', 'theirs')
    client.connect()
    await doc.has('theirs')
    assert.deepEqual(doc.seen, ['theirs'])
  })
})

async function metricsOf (/** @type {string} */ name) { return server.metrics.registry.getSingleMetricAsString(name) }

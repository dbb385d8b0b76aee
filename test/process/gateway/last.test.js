import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { io } from 'socket.io-client'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { rulesFile } from '../../helpers/rules-file.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const rules = rulesFile({ after }, { rules: [{ prefix: 'short/', history: { size: 3, bytes: 1000 } }] })
const { url, gateway } = await startEmbedded({ after }, { AUTH_JWT_SECRET: SECRET, DOCUMENT_RULES_FILE: rules.path })
/** Time without a connection, ms. */
const LONG = 60_000

const token = () => signToken({ sub: 'ada' })

/** @param {string} guid @param {any[]} values @param {Parameters<typeof entry>[2]} [fields] */
const publish = async (guid, values, fields) => {
  for (const value of values) await gateway.bus.publish([entry(guid, value, fields)])
}

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const seen = ({ received }) =>
  received.map(({ event, payload }) => event === 'message' ? payload : `${event} ${payload.position?.offset}`)

describe('a stock client that joins with `last`', () => {
  test('gets the position before the newest records, and them, before the answer, and then live records', async (t) => {
    await publish('stock', range(300, 1))
    for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
      for (const transports of [['websocket'], ['polling']]) {
        const client = await connectClient(t, url, { codec, transports, auth: { token: await token() } })
        const { position, recovered } = await client.ask('doc:join', { guid: 'stock', last: 3 })
        const end = position.offset
        assert.deepEqual([client.received.length, recovered], [4, false])
        await publish('stock', [end + 1])
        await waitFor(() => client.received.length === 5)
        assert.deepEqual(seen(client), [`doc:position ${end - 3}`, end - 2, end - 1, end, end + 1])
        assert.deepEqual(client.received[0].payload, { guid: 'stock', position: { epoch: position.epoch, offset: end - 3 } })
        client.disconnect()
      }
    }
  })

  test('gets them in the handshake as well, and more than a page of them', async (t) => {
    await publish('many', range(450, 1))
    const client = createClient(t, url, { auth: { token: await token(), documents: { many: { last: 420 } } } })
    await waitFor(() => client.received.at(-1)?.event === 'doc:joined')
    assert.deepEqual(seen(client), ['doc:position 30', ...range(420, 31), 'doc:joined 450'])
  })

  test('gets the newest record of each key, what a rule keeps, and nothing of an empty document', async (t) => {
    const client = await connectClient(t, url, { auth: { token: await token() } })
    for (const [i, key] of ['slide', 'title', 'slide', 'slide', 'pointer'].entries()) await publish('keys', [i + 1], { key })
    assert.equal((await client.ask('doc:join', { guid: 'keys', last: 100 })).ok, true)
    assert.deepEqual(seen(client), ['doc:position 1', 2, 4, 5])
    assert.deepEqual(client.received.map(({ meta }) => meta?.after), [undefined, undefined, 2, undefined])
    client.received.length = 0
    await publish('short/1', range(20, 1))
    assert.equal((await client.ask('doc:join', { guid: 'short/1', last: 100 })).ok, true)
    assert.deepEqual(seen(client), ['doc:position 17', 18, 19, 20])
    client.received.length = 0
    assert.equal((await client.ask('doc:join', { guid: 'empty', last: 1 })).position.offset, 0)
    assert.deepEqual(client.received, [])
  })

  test('is refused for a wrong value, without effect on other documents', async (t) => {
    const client = await connectClient(t, url, { auth: { token: await token() } })
    for (const last of [0, -1, 1001, 1.5, '3', null, true, [], {}]) {
      const { ok, error } = await client.ask('doc:join', { guid: 'wrong', last })
      assert.deepEqual([ok, error?.code], [false, 'bad_request'], JSON.stringify(last))
      assert.match(error.message, /^last: /)
    }
    const documents = { bad: { last: 0 }, good: { last: 1 } }
    const other = createClient(t, url, { auth: { token: await token(), documents } })
    await waitFor(() => other.received.length === 2)
    assert.deepEqual(other.received.map(({ event, payload }) => `${event} ${payload.guid}`).sort(), [
      'doc:joined good', 'doc:refused bad'
    ])
  })

  test('needs the right to read, which is enough; records that exclude it are left out', async (t) => {
    await publish('secret', [1, 2])
    await publish('secret', [3], { except: ['page'] })
    await publish('secret', [4])
    const right = await signToken({ sub: 'eve', documents: [{ guid: 'secret', access: 'read' }] })
    const reader = await connectClient(t, url, { auth: { token: right, client: 'page' } })
    assert.equal((await reader.ask('doc:join', { guid: 'secret', last: 3 })).access, 'read')
    assert.deepEqual(seen(reader), ['doc:position 1', 2, 4])
    const stranger = await connectClient(t, url, { auth: { token: await signToken({ sub: 'bob', documents: [] }) } })
    assert.equal((await stranger.ask('doc:join', { guid: 'secret', last: 3 })).error.code, 'forbidden')
    assert.deepEqual(stranger.received, [])
  })

  test('with a position gets what it missed in place of them, or a resync, and nothing twice', async (t) => {
    await publish('position', range(5, 1))
    const client = await connectClient(t, url, { auth: { token: await token() } })
    const { position } = await client.ask('doc:join', { guid: 'position', last: 2 })
    assert.deepEqual(seen(client), ['doc:position 3', 4, 5])
    // a further join of an open document has no effect on its records
    assert.equal((await client.ask('doc:join', { guid: 'position', last: 5 })).position.offset, 5)
    await client.ask('doc:leave', { guid: 'position' })
    client.received.length = 0
    const again = await client.ask('doc:join', { guid: 'position', last: 5, position: { ...position, offset: 4 } })
    assert.deepEqual([again.recovered, seen(client)], [true, [5]])
    await client.ask('doc:leave', { guid: 'position' })
    client.received.length = 0
    await client.ask('doc:join', { guid: 'position', last: 5, position: { epoch: 'other', offset: 4 } })
    assert.deepEqual(seen(client), ['doc:resync 5'])
  })

  test('keeps a position while the records come: a connection lost among them continues there', async (t) => {
    await publish('halfway', range(300, 1))
    /** @type {any} */
    let position
    /** @type {number[]} */
    const shown = []
    const socket = io(url, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      auth: (tell) => token().then((own) => tell({ token: own, documents: { halfway: position ?? { last: 300 } } }))
    })
    t.after(() => { socket.disconnect() })
    socket.on('doc:position', (told) => { position = told.position })
    socket.on('message', (payload, { offset }) => {
      // still of the connection that was lost
      if (offset <= position.offset) return
      shown.push(payload)
      position = { ...position, offset }
      if (shown.length === 50) socket.disconnect().connect()
    })
    await waitFor(() => shown.at(-1) === 300, { message: () => ({ shown, position }) })
    assert.deepEqual(shown, range(300, 1))
  })
})

describe('inkcast-client with `last`', () => {
  test('begins with the newest records, and continues after a reconnect without repeating them', async (t) => {
    await publish('price', range(5, 1))
    const client = startClient(t, url, { token })
    const doc = await openDocument(client, 'price', { last: 2 })
    await doc.has(5)
    client.drop(LONG)
    await client.reaches('reconnecting')
    await publish('price', [6, 7])
    client.connect()
    await doc.has(7)
    assert.deepEqual(doc.seen, [4, 5, 6, 7])
    assert.equal(doc.position?.offset, 7)
  })

  test('a further Document gets them from the history, before the live ones and once', async (t) => {
    const client = startClient(t, url, { token })
    const first = await openDocument(client, 'shared')
    await publish('shared', range(250, 1))
    await first.has(250)
    const opening = openDocument(client, 'shared', { last: 240 })
    await publish('shared', range(20, 251))
    const second = await opening
    await second.has(270)
    // records that were live before the position of the second one was known count as its newest
    const { length } = second.seen
    assert.ok(length >= 240 && length <= 260, `${length} records`)
    assert.deepEqual(second.seen, range(length, 271 - length))
    assert.deepEqual(first.seen, range(270, 1))
    // a later one opens it from the beginning again
    first.close()
    second.close()
    const third = await openDocument(client, 'shared', { last: 1 })
    await third.has(270)
    assert.deepEqual(third.seen, [270])
  })

  test('after a reload of the page it begins with them again, unless the page gives a position', async (t) => {
    await publish('reload', range(5, 1))
    /** @type {Map<string, string>} */
    const kept = new Map()
    const storage = {
      getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
      setItem: (/** @type {string} */ key, /** @type {string} */ value) => { kept.set(key, value) },
      removeItem: (/** @type {string} */ key) => { kept.delete(key) }
    }
    const before = startClient(t, url, { token, storage })
    const doc = await openDocument(before, 'reload', { last: 2 })
    await doc.has(5)
    const stored = doc.position
    assert.equal(kept.size, 1)
    before.close()
    const page = startClient(t, url, { token, storage })
    assert.deepEqual((await openDocument(page, 'reload', { last: 3 }).then(async (opened) => {
      await opened.has(5)
      return opened
    })).seen, [3, 4, 5])
    const own = startClient(t, url, { token })
    const continued = await openDocument(own, 'reload', { last: 3, position: stored && { ...stored, offset: 4 } })
    await continued.has(5)
    assert.deepEqual(continued.seen, [5])
  })

  test('checks the value before it sends, and refuses `load` beside it', async (t) => {
    const client = startClient(t, url, { token })
    for (const last of [0, 1001, 1.5, '3', NaN, {}])
      await assert.rejects(client.open('wrong', { last: /** @type {any} */ (last) }), { code: 'bad_request', message: /^last must be/ })
    await assert.rejects(client.open('wrong', { last: 1, load: async () => {} }), { code: 'bad_request', message: /`load`/ })
    assert.equal((await client.open('wrong', { last: undefined })).status, 'live')
  })
})

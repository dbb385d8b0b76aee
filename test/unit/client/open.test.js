import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ClientError, connect } from '../../../client/index.js'
import { inspect } from '../../../client/devtools/inspect.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })

describe('opening a document', () => {
  test('ends after its timeout, and leaves nothing behind', async (t) => {
    const { client, socket } = scriptedClient(t)
    await assert.rejects(client.open('doc', { timeout: 5 }), { code: 'timeout' })
    socket.accepts()
    assert.deepEqual(socket.handshakes.at(-1).documents, {})
  })

  test('ends when the client is closed while a part of the library is loaded', async (t) => {
    const { client } = scriptedClient(t)
    const opening = client.open('doc', { load: async () => at(1), timeout: 1000 })
    client.close()
    await assert.rejects(opening, { code: 'closed' })
  })

  test('ends when its signal aborts, with the reason of the signal', async (t) => {
    const { client } = scriptedClient(t)
    const abort = new AbortController()
    const opening = client.open('doc', { signal: abort.signal })
    abort.abort(new Error('the page was left'))
    await assert.rejects(opening, /the page was left/)
    await assert.rejects(client.open('doc', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  })

  test('of others is not ended with it', async (t) => {
    const { client, socket } = scriptedClient(t)
    const patient = client.open('doc')
    await assert.rejects(client.open('doc', { timeout: 5 }), { code: 'timeout' })
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
    assert.equal((await patient).live, true)
  })
})

describe('a document that is opened with `offline`', () => {
  test('is there at once, and ready when it is joined', async (t) => {
    const { client, socket } = scriptedClient(t)
    const doc = await client.open('doc', { offline: true })
    assert.equal(doc.status, 'joining')
    assert.deepEqual(doc.pending, [])
    assert.equal(doc.signal('cursor', 1), false)
    const sent = doc.send('x')
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
    await doc.ready
    await settle()
    assert.equal(doc.status, 'live')
    socket.last('doc:send').answer({ ok: true, traceId: 't' })
    assert.deepEqual(await sent, { traceId: 't' })
  })

  test('is loaded when there is a connection', async (t) => {
    const { client, socket } = scriptedClient(t)
    const doc = await client.open('doc', { offline: true, load: async ({ position }) => position })
    /** @type {string[]} */
    const seen = [doc.status]
    doc.on('doc:status', (status) => { seen.push(status) })
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
    await doc.ready
    assert.deepEqual(seen, ['joining', 'loading', 'live'])
  })

  test('is closed with the error of the gateway when it refuses the document', async (t) => {
    const { client, socket } = scriptedClient(t)
    const doc = await client.open('doc', { offline: true })
    const closed = new Promise((resolve) => doc.on('closed', resolve))
    socket.accepts()
    socket.tells('doc:refused', { guid: 'doc', error: { code: 'forbidden', message: 'no', retryable: false } })
    assert.equal(/** @type {any} */ (await closed).code, 'forbidden')
    await assert.rejects(doc.ready, { code: 'forbidden' })
  })

  test('tells the second Document that its copy is older than the first one\'s', async (t) => {
    const { client, socket } = scriptedClient(t)
    await client.open('doc', { offline: true, position: at(7) })
    const second = await client.open('doc', { offline: true, position: at(4) })
    /** @type {any[]} */
    const seen = []
    second.on('resync', (resync) => seen.push(resync))
    second.on('message', (payload) => seen.push(payload))
    await new Promise((resolve) => setTimeout(resolve, 2))
    socket.accepts()
    socket.tells('message', 'eight', { guid: 'doc', offset: 8 })
    socket.tells('doc:joined', { guid: 'doc', position: at(8), recovered: true })
    assert.deepEqual(seen, [{ position: at(7), reason: 'opened' }, 'eight'])
  })
})

describe('a further Document whose copy is newer than the client\'s position', () => {
  /** @param {import('node:test').TestContext} t */
  async function reconnecting (t) {
    const scripted = scriptedClient(t)
    const { client, socket } = scripted
    const first = await openDoc(scripted, at(10))
    socket.disconnects('transport close')
    const second = await client.open('doc', { offline: true, position: at(12) })
    const seen = [first, second].map((doc) => {
      /** @type {unknown[]} */
      const payloads = []
      for (const event of ['message', 'resync']) doc.on(event, (/** @type {any} */ payload) => { payloads.push(payload) })
      return payloads
    })
    await new Promise((resolve) => setTimeout(resolve, 2))
    client.connect()
    socket.accepts()
    return { socket, seen }
  }

  test('gets only the records after its copy, also when the client reconnects', async (t) => {
    const { socket, seen } = await reconnecting(t)
    for (const offset of [11, 12, 13]) socket.tells('message', offset, { guid: 'doc', offset })
    socket.tells('doc:joined', { guid: 'doc', position: at(13), recovered: true })
    assert.deepEqual(seen, [[11, 12, 13], [13]])
  })

  test('loads the document again at a resync, and gets what follows', async (t) => {
    const { socket, seen } = await reconnecting(t)
    const resync = { position: at(3, 'f'), reason: 'epoch' }
    socket.tells('doc:resync', { guid: 'doc', ...resync })
    socket.tells('message', 4, { guid: 'doc', offset: 4 })
    socket.tells('doc:joined', { guid: 'doc', position: at(4, 'f'), recovered: false })
    assert.deepEqual(seen, [[resync, 4], [resync, 4]])
  })
})

test('a document tells its status', async (t) => {
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  const doc = await openDoc(scripted, at(5))
  /** @type {string[]} */
  const seen = [doc.status]
  doc.on('doc:status', (status) => { seen.push(status) })
  socket.disconnects('transport close')
  const ready = doc.ready
  client.connect()
  socket.accepts()
  socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: true })
  await ready
  doc.close()
  assert.deepEqual(seen, ['live', 'joining', 'live', 'closed'])
  await assert.rejects(doc.ready, { code: 'closed' })
})

test('`client.ready` resolves with the connection, and rejects with a refusal', async (t) => {
  const { client, socket } = scriptedClient(t)
  const ready = client.ready
  socket.accepts()
  await ready
  await client.ready
  socket.tells('gateway:disconnect', { code: 'kicked', message: 'kicked', retryable: false })
  socket.disconnects('io server disconnect')
  await assert.rejects(client.ready, { code: 'kicked' })
})

describe('connect refuses at once', () => {
  for (const [url, message] of /** @type {const} */ ([
    ['', /got ""/],
    [' ', /got " "/],
    [undefined, /got undefined/],
    [42, /got 42/],
    ['ftp://gateway', /got "ftp:/],
    ['http://', /got "http:/],
    ['http://gateway:99999', /got "http:/],
    ['https://example.com/gateway', /For a path use the option socket: { path: '\/gateway\/socket.io\/' }/]
  ])) {
    test(`${JSON.stringify(url)}`, () => {
      assert.throws(() => connect(/** @type {any} */ (url)), { name: 'TypeError', message })
    })
  }

  test('and nothing else', (t) => {
    for (const url of ['http://gateway', 'https://gateway:3000/', 'wss://gateway', 'http://[::1]:3000'])
      t.after(() => connect(url).close())
  })

  // on pages of http, https and file, and in Node
  for (const page of ['http:', 'https:', 'file:', undefined]) {
    const isWeb = page?.startsWith('http')
    test(`the same addresses ${page === undefined ? 'in Node' : `on a page of ${page}`}`, (t) => {
      if (page !== undefined) {
        Object.assign(globalThis, { location: { protocol: page, origin: `${page}//page` } })
        t.after(() => { delete /** @type {any} */ (globalThis).location })
      }
      for (const host of ['localhost', '127.0.0.1', '[::1]', 'gateway', 'gateway.example.com', 'user@gateway']) {
        for (const port of ['', ':3000', ':80']) {
          for (const scheme of [
            '', '//', 'http:', 'http://', 'https://', 'ws://', 'wss://', 'ftp://', 'file://', 'data:', 'HTTP://', ' http://'
          ]) {
            const url = `${scheme}${host}${port}`
            const isRight = /^(http|ws)s?:\/\/$/.test(scheme) || (isWeb && scheme === '//')
            const open = () => {
              const client = connect(url)
              t.after(() => client.close())
            }
            if (isRight) open()
            else assert.throws(open, { name: 'TypeError', message: /needs the URL of a gateway/ }, url)
          }
        }
      }
    })
  }
})

test('the log names what the client does, without payloads', async (t) => {
  /** @type {import('../../../client/index.js').LogEntry[]} */
  const entries = []
  const scripted = scriptedClient(t, { log: (entry) => { entries.push(entry) } })
  await openDoc(scripted, at(5))
  scripted.socket.tells('message', 'secret', { guid: 'doc', offset: 6 })
  scripted.socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
  scripted.socket.disconnects('transport close')
  assert.deepEqual(entries.map(({ what, guid, detail }) => [what, guid, typeof detail === 'object' ? 'object' : detail]), [
    ['connected', undefined, undefined],
    ['joined', 'doc', 'object'],
    ['resync', 'doc', 'trimmed'],
    ['reconnecting', undefined, 'disconnected']
  ])
  assert.ok(!JSON.stringify(entries).includes('secret'))
})

test('`inspect` shows the state of the connection and of each document', async (t) => {
  const scripted = scriptedClient(t)
  const doc = await openDoc(scripted, at(5))
  scripted.socket.tells('message', 'held', { guid: 'doc', offset: 6 })
  await settle()
  const { state, documents: [{ guid, status, position, records, opened: [{ held, heldFor }] }] } =
    inspect(scripted.client)
  assert.deepEqual({ state, guid, status, position, records, held, heldFor }, {
    state: 'connected', guid: 'doc', status: 'joined', position: at(6), records: 1, held: 2, heldFor: ['no listener']
  })
  assert.ok(doc.live)
})

test('a queued edit needs the option `outbox`', async (t) => {
  const doc = await openDoc(scriptedClient(t), at(5))
  await assert.rejects(doc.send({ text: 'x' }, { queue: true }), (error) =>
    error instanceof ClientError && error.code === 'bad_request' && /outbox/.test(error.message))
})

test('records of another log that begins while the newest ones are read reach a Document with `last`', async (t) => {
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  await openDoc(scripted, at(5))
  const second = await client.open('doc', { last: 10 })
  /** @type {unknown[]} */
  const seen = []
  for (const event of ['resync', 'message']) second.on(event, (/** @type {any} */ payload) => { seen.push(payload) })
  await settle()
  const resync = { position: at(0, 'f'), reason: 'epoch' }
  socket.tells('doc:resync', { guid: 'doc', ...resync })
  socket.tells('message', 'first', { guid: 'doc', offset: 1 })
  socket.last('doc:history').answer({ ok: true, records: [], position: at(1, 'f'), more: false })
  await new Promise((resolve) => setTimeout(resolve, 2))
  assert.deepEqual(seen, [resync, 'first'])
})

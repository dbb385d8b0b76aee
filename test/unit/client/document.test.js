import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })

/**
 * A client with one joined document, and the recorded events.
 * @param {import('node:test').TestContext} t
 * @param {import('../../../client/index.js').OpenOptions} [options]
 * @param {import('../../../client/index.js').ClientOptions} [clientOptions]
 */
async function opened (t, options, clientOptions) {
  const time = clientTime(t)
  const scripted = scriptedClient(t, clientOptions)
  const { client, socket } = scripted
  const doc = await openDoc(scripted, at(5), options)
  /** @type {any[]} */
  const seen = []
  doc.on('message', (payload) => { seen.push(payload) })
  doc.on('resync', ({ reason }) => { seen.push(`resync ${reason}`) })
  doc.on('joined', ({ recovered }) => { seen.push(`joined ${recovered}`) })
  doc.on('closed', ({ code }) => { seen.push(`closed ${code}`) })
  const record = (/** @type {any} */ payload, /** @type {number | undefined} */ offset, more = {}) =>
    socket.tells('message', payload, { guid: 'doc', ...(offset === undefined ? {} : { offset }), ...more })
  const back = () => {
    client.connect()
    socket.accepts()
  }
  time.advance(1)
  seen.length = 0
  return { ...scripted, doc, seen, record, back, time }
}

describe('records', () => {
  test('that are duplicates are dropped; records without an offset are not', async (t) => {
    const { doc, seen, record } = await opened(t)
    record('old', 5)
    record('six', 6)
    record('six again', 6)
    record('signal', undefined)
    record('eight', 8) // seven was not for this client
    record('seven', 7)
    assert.deepEqual(seen, ['six', 'signal', 'eight'])
    assert.deepEqual(doc.position, at(8))
  })

  test('with the name of an event of the client get another name, so that they cannot imitate the gateway', async (t) => {
    const { client, socket, doc, seen } = await opened(t)
    /** @type {any[]} */
    const others = []
    doc.on('record:resync', (payload) => { others.push(payload) })
    client.on('record:state', (payload) => { others.push(payload) })
    client.on('state', () => { others.push('not this') })
    socket.tells('resync', 'a record', { guid: 'doc', offset: 6 })
    socket.tells('state', 'for the user', { traceId: 't' })
    assert.deepEqual(others, ['a record', 'for the user'])
    assert.deepEqual(seen, [])
  })

  test('for the user, the connection or everyone arrive at the client', async (t) => {
    const { client, socket, seen } = await opened(t)
    /** @type {any[]} */
    const got = []
    const off = client.on('message', (payload, meta) => { got.push([payload, meta]) })
    socket.tells('message', 'hello', { traceId: 't' })
    off()
    socket.tells('message', 'nobody hears', { traceId: 't' })
    assert.deepEqual(got, [['hello', { traceId: 't' }]])
    assert.deepEqual(seen, [])
  })

  test('that arrive before there is a listener are queued, up to a limit', async (t) => {
    const time = clientTime(t)
    for (const [count, position] of /** @type {const} */ ([[3, at(0)], [10_001, at(0)], [10_001, null]])) {
      const { client, socket } = scriptedClient(t)
      const opening = client.open('doc', { position })
      socket.accepts()
      for (let i = 1; i <= count; i++) socket.tells('message', i, { guid: 'doc', offset: i })
      socket.tells('doc:joined', { guid: 'doc', position: at(count), recovered: true })
      const doc = await opening
      time.advance(1000)
      await settle() // the page loads the document
      /** @type {any[]} */
      const seen = []
      doc.on('message', (payload) => { seen.push(payload) })
      doc.on('resync', ({ position, reason }) => { seen.push([reason, position]) })
      assert.deepEqual(seen, [])
      time.advance(1)
      assert.deepEqual(seen, count === 3 ? [1, 2, 3] : [['overflow', at(10_001)]])
      socket.tells('message', 'live', { guid: 'doc', offset: count + 1 })
      assert.equal(seen.at(-1), 'live')
    }
  })

  test('are acknowledged by the listener, and records of this client automatically', async (t) => {
    const { socket, doc, seen } = await opened(t)
    let acknowledged = 0
    doc.on('edit', (_payload, _meta, acknowledge) => { acknowledge?.() })
    socket.tells('edit', 1, { guid: 'doc', offset: 6 }, () => { acknowledged++ })
    socket.tells('message', 1, { guid: 'doc', offset: 7, from: 'connection-1' }, () => { acknowledged++ })
    assert.equal(acknowledged, 2)
    assert.deepEqual(seen, [])
  })

  test('reach the other listeners when one throws', async (t) => {
    const { socket, doc, seen, record } = await opened(t)
    /** @type {unknown[]} */
    const thrown = []
    t.mock.method(globalThis, 'queueMicrotask', (/** @type {() => void} */ task) => {
      try { task() } catch (error) { thrown.push(error) }
    })
    const failure = new Error('an error of the page')
    doc.on('edit', () => { throw failure })
    doc.on('edit', () => { seen.push('edit') })
    socket.tells('edit', 'six', { guid: 'doc', offset: 6 })
    record('seven', 7)
    assert.deepEqual(seen, ['edit', 'seven'])
    assert.deepEqual(thrown, [failure])
  })
})

describe('a listener with a signal', () => {
  for (const method of /** @type {const} */ (['on', 'once'])) {
    test(`leaves nothing at the signal when it is removed: ${method}`, async (t) => {
      const { doc, record } = await opened(t)
      const { signal } = new AbortController()
      const add = t.mock.method(signal, 'addEventListener')
      const remove = t.mock.method(signal, 'removeEventListener')
      const off = doc[method]('message', () => {}, { signal })
      if (method === 'once') record('six', 6)
      else off()
      const [added, removed] = [add, remove].map(({ mock: { calls } }) =>
        calls.map(({ arguments: [, listener] }) => listener))
      assert.deepEqual(removed, added)
    })
  }
})

describe('a document over reconnects', () => {
  test('is joined again from its position, by each handshake', async (t) => {
    const { client, socket, seen, record, back } = await opened(t)
    record('six', 6)
    client.drop(1000)
    record('of the lost connection', 7)
    assert.deepEqual(seen, ['six'])
    back()
    assert.deepEqual(socket.handshakes.map(({ documents }) => documents), [{ doc: {} }, { doc: at(6) }])
    assert.equal(socket.handshakes[0].client, client.id)
    record('seven', 7)
    socket.tells('doc:joined', { guid: 'doc', position: at(7), recovered: true })
    record('seven again', 7)
    assert.deepEqual(seen, ['six', 'seven', 'joined true'])
  })

  test('continues from the gateway\'s position after a resync', async (t) => {
    const { client, socket, doc, seen, record, back } = await opened(t)
    client.drop(1000)
    back()
    socket.tells('doc:resync', { guid: 'doc', position: at(2, 'f'), reason: 'epoch' })
    record('three', 3)
    socket.tells('doc:joined', { guid: 'doc', position: at(2, 'f'), recovered: false })
    record('three again', 3)
    record('four', 4)
    assert.deepEqual(seen, ['resync epoch', 'three', 'joined false', 'four'])
    assert.deepEqual(doc.position, at(4, 'f'))
  })

  test('drops records from before the response to its first join if that was lost', async (t) => {
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    const opening = client.open('doc')
    socket.accepts()
    socket.tells('message', 'one', { guid: 'doc', offset: 9 })
    socket.disconnects('transport close')
    client.connect()
    socket.accepts()
    assert.deepEqual(socket.handshakes[1].documents, { doc: {} })
    socket.tells('doc:joined', { guid: 'doc', position: at(12), recovered: false })
    const doc = await opening
    doc.on('message', () => assert.fail('it has no position'))
    time.advance(1)
    assert.deepEqual(doc.position, at(12))
  })

  test('participates in the presence again, with its state', async (t) => {
    const { client, socket, doc, back } = await opened(t, { state: { color: 'red' } })
    const changing = doc.setState({ color: 'blue' })
    assert.deepEqual(socket.last('doc:state').argument, { guid: 'doc', state: { color: 'blue' } })
    socket.last('doc:state').answer({ ok: true, guid: 'doc' })
    await changing
    client.drop(1000)
    back()
    assert.deepEqual(
      socket.handshakes.map(({ documents }) => documents),
      [{ doc: { state: { color: 'red' } } }, { doc: { ...at(5), state: { color: 'blue' } } }]
    )
  })

  test('participates in the presence only on request, also later', async (t) => {
    const { client, socket, doc, back } = await opened(t)
    /** @type {any[]} */
    const told = []
    doc.on('presence', ({ joined, count }) => { told.push([joined.map(({ uid }) => uid), count]) })
    await client.open('doc', { presence: true })
    assert.deepEqual(socket.last('doc:join').argument, { guid: 'doc', members: true })
    socket.last('doc:join')
      .answer({
        ok: true,
        guid: 'doc',
        position: at(5),
        recovered: false,
        members: [{ uid: 'ada', id: 'a' }],
        count: 1,
        version: 1
      })
    await settle()
    socket.tells('doc:presence', {
      guid: 'doc',
      from: 1,
      version: 2,
      joined: [{ uid: 'bob', id: 'b' }],
      left: [],
      changed: [],
      count: 2
    })
    assert.deepEqual(told, [[['ada'], 1], [['bob'], 2]])
    assert.deepEqual([...doc.presence.keys()], ['ada', 'bob'])
    client.drop(1000)
    back()
    assert.deepEqual(socket.handshakes[1].documents, { doc: { ...at(5), members: true } })
  })

  test('is listed from the first state on', async (t) => {
    const { socket, doc } = await opened(t)
    const listed = doc.setState({ line: 1 })
    await settle()
    socket.last('doc:state')
      .answer({ ok: true, guid: 'doc', members: [{ uid: 'ada', id: 'a', state: { line: 1 } }], count: 1, version: 1 })
    await listed
    assert.equal(doc.presence.count, 1)
  })

  test('is closed when the gateway revokes or refuses it', async (t) => {
    const first = await opened(t)
    first.socket.tells('doc:revoked', { guid: 'doc' })
    assert.deepEqual(first.seen, ['closed forbidden'])
    assert.equal(first.doc.live, false)
    await assert.rejects(first.doc.send('x'), { code: 'closed' })
    const second = await opened(t)
    second.client.drop(1000)
    second.back()
    second.socket.tells('doc:refused', {
      guid: 'doc',
      error: { code: 'forbidden', message: 'not allowed', retryable: false }
    })
    assert.deepEqual(second.seen, ['closed forbidden'])
    second.client.drop(1000)
    second.back()
    assert.deepEqual(second.socket.handshakes[2].documents, {})
  })

  test('is requested again after a temporary refusal', async (t) => {
    const { client, socket, seen, back, time } = await opened(t)
    client.drop(1000)
    back()
    socket.tells('doc:refused', { guid: 'doc', error: { code: 'unavailable', message: 'not now', retryable: true } })
    time.advance(1000)
    socket.last('doc:join').answer({ ok: false, error: { code: 'unavailable', message: 'not now', retryable: true } })
    await settle()
    time.advance(2000)
    assert.deepEqual(socket.last('doc:join').argument, { guid: 'doc', position: at(5) })
    socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(5), recovered: true })
    await settle()
    assert.deepEqual(seen, ['joined true'])
  })
})

describe('opening', () => {
  test('an open document is shared by another one with listeners of its own, which learns what it missed', async (t) => {
    const { client, socket, doc, seen, record, time } = await opened(t)
    record('six', 6)
    const same = await client.open('doc', { position: at(6) })
    const older = await client.open('doc', { position: at(4) })
    /** @type {any[]} */
    const told = []
    for (const other of [same, older])
      other.on('resync', ({ reason }) => { told.push([other === older, reason]) })
    time.advance(1)
    assert.deepEqual(told, [[true, 'opened']])
    doc.close()
    doc.close()
    same.close()
    assert.equal(older.live, true)
    older.close()
    assert.deepEqual(socket.last('doc:leave').argument, { guid: 'doc' })
    assert.deepEqual(seen, ['six'])
  })

  test('reopening waits for a pending leave, so that no record of the old document reaches the new one', async (t) => {
    const { client, socket, doc, record } = await opened(t)
    client.on('message', () => assert.fail('it belongs to a document'))
    doc.close()
    record('of the old one', 8)
    const opening = client.open('doc', { position: at(3) })
    record('of the old one', 9)
    socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    assert.throws(() => socket.last('doc:join'))
    socket.last('doc:leave').answer({ ok: true, guid: 'doc' })
    await settle()
    assert.deepEqual(socket.last('doc:join').argument.position, at(3))
    socket.last('doc:join').answer({ ok: true, guid: 'doc', position: at(4), recovered: true })
    record('four', 4)
    const again = await opening
    assert.deepEqual(again.position, at(4))
  })

  test('an invalid guid is refused locally, because the gateway would refuse the whole handshake', async (t) => {
    const { client } = await opened(t)
    for (const guid of ['', 'a\nb', 'x'.repeat(257), '世'.repeat(86), 7, undefined])
      await assert.rejects(client.open(/** @type {any} */ (guid)), { code: 'bad_request' })
  })

  test('documents that do not fit into the handshake are joined after it', async (t) => {
    const { client, socket } = scriptedClient(t)
    for (let i = 0; i < 120; i++) client.open(`doc-${i}`).catch(() => {})
    socket.accepts()
    assert.equal(Object.keys(socket.handshakes[0].documents).length, 50)
    assert.deepEqual(
      socket.sent.map(({ event, argument }) => [event, argument.guid]),
      Array.from({ length: 70 }, (_, i) => ['doc:join', `doc-${i + 50}`])
    )
  })

  test('is refused with the gateway\'s error', async (t) => {
    const { client, socket } = await opened(t)
    const opening = client.open('secret')
    socket.last('doc:join')
      .answer({ ok: false, error: { code: 'forbidden', message: 'not allowed', retryable: false } })
    await assert.rejects(opening, { code: 'forbidden', message: 'not allowed' })
  })

  test('does not outlive the client', async (t) => {
    const { client, doc, seen } = await opened(t)
    const opening = client.open('other')
    client.close()
    await assert.rejects(opening, { code: 'closed' })
    await assert.rejects(client.open('other'), { code: 'closed' })
    await assert.rejects(doc.send('x'), { code: 'closed' })
    assert.deepEqual(seen, ['closed closed'])
  })
})

describe('sending', () => {
  test('waits for the join, up to its timeout', async (t) => {
    const { client, socket, doc, back, time } = await opened(t)
    client.drop(60_000)
    const sent = doc.send('one', { event: 'edit' })
    const late = assert.rejects(doc.send('two', { timeout: 100 }), { code: 'timeout', retryable: true })
    assert.equal(doc.signal('cursor', 1), false)
    time.advance(100)
    await late
    back()
    assert.throws(() => socket.last('doc:send'))
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: true })
    await settle()
    assert.deepEqual(socket.last('doc:send').argument, { guid: 'doc', event: 'edit', data: 'one' })
    socket.last('doc:send').answer({ ok: true, traceId: 'trace' })
    assert.deepEqual(await sent, { traceId: 'trace' })
    assert.equal(doc.signal('cursor', 1), true)
    assert.deepEqual(socket.last('doc:signal').argument, { guid: 'doc', event: 'cursor', data: 1 })
  })

  test('is refused with the gateway\'s error, or with one for an unknown outcome', async (t) => {
    const { client, socket, doc } = await opened(t)
    const refused = doc.send('x')
    socket.last('doc:send')
      .answer({ ok: false, error: { code: 'rate_limited', message: 'too many events', retryable: true } })
    await assert.rejects(refused, { code: 'rate_limited', retryable: true })
    const lost = doc.send('x')
    socket.sendBuffer.push('what Socket.IO would send before the document is joined')
    client.drop(1000)
    await assert.rejects(lost, { code: 'disconnected', retryable: true })
    assert.deepEqual(socket.sendBuffer, [])
  })

  test('queues up to 1,000 messages', async (t) => {
    const { client, doc } = await opened(t)
    client.drop(60_000)
    const waiting = Array.from({ length: 1000 }, () => assert.rejects(doc.send('x'), { code: 'closed' }))
    await assert.rejects(doc.send('x'), { code: 'too_many_waiting', retryable: true })
    client.close()
    await Promise.all(waiting)
  })
})

describe('a storage', () => {
  const storage = () => {
    /** @type {Map<string, string>} */
    const items = new Map()
    return {
      items,
      getItem: (/** @type {string} */ key) => items.get(key) ?? null,
      setItem: (/** @type {string} */ key, /** @type {string} */ value) => { items.set(key, value) },
      removeItem: (/** @type {string} */ key) => { items.delete(key) }
    }
  }

  test('keeps positions until the document is closed', async (t) => {
    const kept = storage()
    const { socket, doc, record } = await opened(t, {}, { storage: kept })
    record('six', 6)
    assert.deepEqual([...kept.items], [['inkcast http://gateway doc', '{"epoch":"e","offset":6}']])
    const reloaded = scriptedClient(t, { storage: kept })
    reloaded.client.open('doc').catch(() => {})
    reloaded.socket.handshake()
    assert.deepEqual(reloaded.socket.handshakes[0].documents, { doc: at(6) })
    assert.equal(socket.handshakes.length, 1)
    doc.close()
    assert.equal(kept.items.size, 0)
  })

  test('keeps them also when the page closes with open documents', async (t) => {
    const kept = storage()
    const { client } = await opened(t, {}, { storage: kept })
    client.close()
    assert.equal(kept.items.size, 1)
  })

  test('that is full, forbidden or used by others does no harm', async (t) => {
    const broken = () => { throw new Error('SecurityError') }
    const { record, seen } = await opened(t, {}, { storage: { getItem: broken, setItem: broken, removeItem: broken } })
    record('six', 6)
    assert.deepEqual(seen, ['six'])
    for (const text of ['nonsense', '{}', 'null', '{"epoch":1,"offset":2}', '{"epoch":"e","offset":-1}']) {
      const other = scriptedClient(t, { storage: { ...storage(), getItem: () => text } })
      other.client.open('doc').catch(() => {})
      other.socket.handshake()
      assert.deepEqual(other.socket.handshakes[0].documents, { doc: {} }, text)
    }
  })
})

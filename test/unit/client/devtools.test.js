import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { clock } from '../../../client/common/clock.js'
import { detailText, duration } from '../../../client/devtools/format.js'
import { Model } from '../../../client/devtools/model.js'
import { fit } from '../../../client/devtools/place.js'
import { Rate } from '../../../client/devtools/rate.js'

/** A client whose state the test sets, and a clock that it turns. @param {import('node:test').TestContext} t */
function scene (t) {
  const time = { now: 1_000 }
  t.mock.method(clock, 'monotonic', () => time.now)
  const document = {
    guid: 'minutes',
    status: 'joined',
    position: { epoch: 'A', offset: 7 },
    members: { count: 2 },
    pending: () => /** @type {any[]} */ ([]),
    seen: { records: 0, gaps: 0, resyncs: 0 },
    signals: { refused: false },
    inboxes: [{
      status: 'live', emitter: { events: new Map([['edit', { size: 1 }]]) }, loops: { size: 0 },
      held: { events: /** @type {any[]} */ ([]), reasons: new Set() }
    }],
    tell () {},
    ask: async () => {},
    signal: () => true,
    request: async () => {}
  }
  /** @type {Function[]} */
  const onState = []
  /** @type {Function[]} */
  const onLog = []
  const listenTo = (/** @type {Function[]} */ list) => (/** @type {Function} */ listener) => {
    list.push(listener)
    return () => { list.splice(list.indexOf(listener), 1) }
  }
  const client = {
    url: 'http://gateway', id: 'tab', state: 'connected', reason: null, transport: 'websocket', connectionId: 'AA1',
    _memberships: new Map([['minutes', document]]),
    on: (/** @type {string} */ _event, /** @type {Function} */ listener) => listenTo(onState)(listener),
    onLog: listenTo(onLog)
  }
  let changes = 0
  const model = new Model(/** @type {any} */ (client), () => { changes++ })
  return {
    model, client, document, time, onState, onLog,
    changes: () => changes,
    log: (/** @type {object} */ entry) => { for (const listener of onLog) listener({ at: time.now, ...entry }) },
    /** @param {string} state @param {Error | null} [reason] */
    state (state, reason = null) {
      client.state = state
      for (const listener of onState) listener(state, reason)
    },
    read: () => model.read().documents[0]
  }
}

describe('model of the devtools', () => {
  test('shows the latest 50 changes of state with their reasons', (t) => {
    const { model, state, changes } = scene(t)
    const lost = Object.assign(new Error('the connection was lost'), { code: 'disconnected' })
    state('reconnecting', lost)
    assert.equal(changes(), 2)
    assert.deepEqual(model.read().changes.map(({ state, reason }) => [state, reason]), [
      ['connected', ''], ['reconnecting', 'disconnected: the connection was lost']
    ])
    for (let i = 0; i < 60; i++) state(i % 2 === 0 ? 'connected' : 'reconnecting')
    const latest = model.read().changes
    assert.equal(latest.length, 50)
    assert.equal(latest.at(-1)?.state, 'reconnecting')
  })

  test('keeps the latest 500 log entries, and gaps and resyncs with their document', (t) => {
    const { model, log } = scene(t)
    for (let i = 0; i < 510; i++) log({ what: 'joined', guid: 'minutes', detail: i })
    log({ what: 'resync', guid: 'minutes', detail: 'trimmed' })
    log({ what: 'gap', guid: 'other', detail: { after: 3, offset: 5 } })
    const { entries, documents } = model.read()
    assert.equal(entries.length, 500)
    assert.equal(entries[0].detail, 12)
    assert.deepEqual(documents[0].repairs.map(({ what, detail }) => [what, detail]), [['resync', 'trimmed']])
  })

  test('computes records per second over the last 5 s', (t) => {
    const { document, time, read } = scene(t)
    assert.equal(read().perSecond, 0)
    for (let i = 0; i < 40; i++) {
      time.now += 500
      document.seen.records += 10
      read()
    }
    assert.equal(read().perSecond, 20)
    for (let i = 0; i < 10; i++) {
      time.now += 500
      read()
    }
    assert.equal(read().perSecond, 0)
    assert.equal(read().records, 400)
  })

  test('tells what waits, for what and since when', (t) => {
    const { document, time, state, read } = scene(t)
    document.inboxes[0].held.reasons.add('no listener')
    assert.deepEqual(read().waits.map(({ ms, longer, ...wait }) => ({ ...wait, ms, longer })), [
      { name: 'events', for: 'doc.on(…): the document has no listener yet', ms: 0, longer: true }
    ])
    time.now += 2_000
    document.status = 'idle'
    state('reconnecting')
    const waits = () => read().waits.map(({ name, for: reason, ms, longer }) => [name, reason, ms, longer])
    const held = ['events', 'doc.on(…): the document has no listener yet']
    assert.deepEqual(waits(), [['document', 'a new connection', 0, false], [...held, 2_000, true]])
    time.now += 1_000
    assert.deepEqual(waits().map(([, , ms]) => ms), [1_000, 3_000])
    // a wait that ends and begins again counts from then on
    document.status = 'joined'
    read()
    document.status = 'idle'
    assert.deepEqual(waits()[0], ['document', 'a new connection', 0, false])
    document.status = 'joining'
    assert.deepEqual(waits()[0], ['document', 'the answer of the gateway to its join', 0, false])
  })

  test('tells which calls wait for the join, and then for their answer', async (t) => {
    const { model, document, time, read } = scene(t)
    /** @type {(answer: unknown) => void} */
    let resolve = () => {}
    const promise = new Promise((settle) => { resolve = settle })
    document.request = /** @type {any} */ (() => promise)
    document.status = 'joining'
    read()
    const call = /** @type {any} */ (document).request('doc:send', { data: 1 })
    time.now += 300
    const waits = () => read().waits.map(({ name, for: reason, ms }) => [name, reason, ms])
    assert.deepEqual(waits()[1], ['doc:send', 'the document to be joined', 300])
    document.status = 'joined'
    assert.deepEqual(waits(), [['doc:send', 'the answer of the gateway', 300]])
    resolve('answer')
    assert.equal(await call, 'answer')
    assert.deepEqual(waits(), [])
    model.stop()
    assert.equal(document.request(), promise)
  })

  test('counts signals that were sent and dropped', async (t) => {
    const { document, read } = scene(t)
    read()
    const { tell, ask } = /** @type {any} */ (document)
    tell('doc:signal', {})
    await ask('doc:signal', {}, 1)
    await ask('doc:send', {}, 1)
    tell('doc:other', {})
    assert.equal(document.signal(), true)
    assert.deepEqual(read().signals, { sent: 2, dropped: 0, refused: false })
  })

  test('counts signals without a connection as dropped', (t) => {
    const { document, read } = scene(t)
    document.signal = () => false
    read()
    assert.equal(document.signal(), false)
    document.signals.refused = true
    assert.deepEqual(read().signals, { sent: 0, dropped: 1, refused: true })
  })

  test('notes gaps with their time', (t) => {
    const { document, read } = scene(t)
    document.seen.gaps = 2
    assert.deepEqual(read().repairs, []) // they were before the panel
    document.seen.gaps = 3
    assert.deepEqual(read().repairs.map(({ what, detail }) => [what, detail]), [['gap', 'up to offset 7']])
    read()
    assert.equal(read().repairs.length, 1)
  })

  test('lists queued sends with their age, the first 50 of them', (t) => {
    const { document, time, read } = scene(t)
    const edits = Array.from({ length: 60 }, (_, i) => ({ id: String(i), event: 'edit', data: 'private' }))
    document.pending = () => edits
    read()
    time.now += 4_000
    document.pending = () => edits.slice(1)
    const { pending, pendingCount, waits } = read()
    assert.equal(pendingCount, 59)
    assert.equal(pending.length, 50)
    assert.deepEqual(pending[0], { id: '1', event: 'edit', ms: 4_000 })
    assert.equal(pending[49].ms, 0)
    assert.deepEqual(waits.map(({ name }) => name), ['queued sends'])
  })

  test('a document that loads is `loading`, whatever its other handles do', (t) => {
    const { document, read } = scene(t)
    document.inboxes.push(
      {
        status: 'loading', emitter: { events: new Map([['edit', { size: 1 }]]) }, loops: { size: 1 },
        held: { events: new Array(4).fill([]), reasons: new Set(['load']) }
      })
    const { status, handles, listeners, held } = read()
    assert.deepEqual({ status, handles, listeners, held }, { status: 'loading', handles: 2, listeners: 3, held: 4 })
  })

  test('forgets closed documents', (t) => {
    const { model, client, document, log } = scene(t)
    log({ what: 'resync', guid: 'minutes', detail: 'trimmed' })
    model.read()
    client._memberships.clear()
    assert.deepEqual(model.read().documents, [])
    client._memberships.set('minutes', document)
    assert.deepEqual(model.read().documents[0].repairs, [])
  })

  test('removes its listeners at the end', (t) => {
    const { model, onState, onLog } = scene(t)
    assert.deepEqual([onState.length, onLog.length], [1, 1])
    model.stop()
    assert.deepEqual([onState.length, onLog.length], [0, 0])
  })
})

test('a rate needs two readings at different times', () => {
  const rate = new Rate()
  assert.equal(rate.perSecond, 0)
  rate.add(1_000, 5)
  rate.add(1_000, 9)
  assert.equal(rate.perSecond, 0)
  rate.add(3_000, 9)
  assert.equal(rate.perSecond, 2)
})

test('the panel stays in the window', () => {
  const size = { width: 480, height: 420 }
  const space = { width: 1000, height: 800 }
  assert.deepEqual(fit({ ...size, left: null, top: null, tab: '' }, space), { ...size, left: 520, top: 380 })
  assert.deepEqual(fit({ ...size, left: 900, top: -5, tab: '' }, space), { ...size, left: 520, top: 0 })
  assert.deepEqual(
    fit({ ...size, left: 100, top: 100, tab: '' }, { width: 400, height: 300 }),
    { width: 400, height: 300, left: 0, top: 0 }
  )
})

test('texts of durations and details', () => {
  assert.deepEqual([950, 12_300, 150_000, 7_200_000].map(duration), ['0.9 s', '12 s', '3 min', '2 h'])
  assert.equal(detailText(undefined), '')
  assert.equal(detailText('trimmed'), 'trimmed')
  assert.equal(detailText({ epoch: 'A', offset: 3, more: { a: 1 } }), 'epoch A, offset 3, more {"a":1}')
})

/** @param {string} entry file of client/ @returns {Promise<string[]>} the files of its bundle, also those on demand */
async function filesOf (entry) {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../../../client/${entry}`, import.meta.url))],
    absWorkingDir: fileURLToPath(new URL('../../../client/', import.meta.url)),
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    splitting: true,
    outdir: 'dist',
    external: ['socket.io-client'],
    logLevel: 'silent'
  })
  return Object.keys(metafile.inputs)
}

test('the client contains nothing of the devtools, not even on demand', async () => {
  const files = await filesOf('index.js')
  assert.ok(files.includes('document/membership.js'))
  assert.deepEqual(files.filter((file) => file.startsWith('devtools/')), [])
})

test('the devtools contain only themselves and what has the time', async () => {
  const files = await filesOf('devtools/index.js')
  assert.ok(files.includes('devtools/panel.js'))
  assert.deepEqual(files.filter((file) => !file.startsWith('devtools/')), ['common/clock.js', 'common/interval.js'])
})

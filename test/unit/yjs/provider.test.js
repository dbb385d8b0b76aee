import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ClientError } from 'inkcast-client'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { manualTimers } from '../../helpers/manual-timers.js'
import { ScriptedDocument, ScriptedPage } from '../../helpers/scripted-pages.js'

const INTERVAL = 50

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const timers = manualTimers(t)
  const document = new ScriptedDocument()
  return {
    timers,
    document,
    /** @param {number} [ms] */
    async pass (ms = 1) {
      await setImmediate()
      timers.tick(ms)
      await setImmediate()
    },
    /** @param {Partial<import('inkcast-yjs').Options>} [options] @param {Y.Doc} [doc] */
    open (options = {}, doc = new Y.Doc()) {
      const page = new ScriptedPage(document)
      const provider = new InkcastProvider(/** @type {any} */ (page), 'text', doc, {
        load: async () => document.snapshot(), presence: false, ...options
      })
      t.after(() => provider.destroy())
      /** @type {any[]} */
      const events = []
      provider.on('status', ({ status }) => events.push(status))
      provider.on('synced', (isSynced) => events.push(isSynced ? 'synced' : 'not synced'))
      provider.on('unsent', (hasUnsent) => events.push(hasUnsent ? 'unsent' : 'sent'))
      provider.on('error', (error) => events.push(error.code))
      return { page, provider, doc, text: doc.getText('text'), events }
    }
  }
}

/** @param {Uint8Array} update */
function textOf (update) {
  const doc = new Y.Doc()
  Y.applyUpdate(doc, update)
  return doc.getText('text').toString()
}

describe('a provider', () => {
  test('is connected and synced when it has the service\'s document and the records after it', async (t) => {
    const { document, open, pass } = setUp(t)
    const { doc: other } = open()
    other.getText('text').insert(0, 'stored')
    document.publish('yjs', Y.encodeStateAsUpdate(other))
    document.merge()
    other.getText('text').insert(6, ', logged')
    document.publish('yjs', Y.encodeStateAsUpdate(other))
    const { provider, text, events, page } = open()
    assert.deepEqual([provider.status, provider.synced], ['connecting', false])
    let isSynced = false
    provider.whenSynced.then(() => { isSynced = true })
    await pass(0)
    assert.equal(isSynced, false)
    await pass()
    assert.deepEqual([isSynced, text.toString(), events], [true, 'stored, logged', ['connected', 'synced']])
    assert.equal(page.inFlight.length, 0, 'it sends nothing')
    page.drop()
    await page.comeBack()
    provider.disconnect()
    assert.deepEqual(events.slice(2), ['connecting', 'not synced', 'connected', 'synced', 'disconnected', 'not synced'])
    provider.connect()
    await pass()
    assert.equal(provider.status, 'connected')
  })

  test('sends one update at a time, and merges those that are typed meanwhile', async (t) => {
    const { open, pass } = setUp(t)
    const { page, text, events } = open()
    await pass()
    for (const character of 'typing') text.insert(text.length, character)
    assert.equal(page.inFlight.length, 1)
    page.answer()
    await pass(INTERVAL - 1)
    assert.equal(page.inFlight.length, 0, 'not before the interval')
    await pass()
    assert.equal(page.inFlight.length, 1)
    page.answer()
    await pass(INTERVAL)
    assert.equal(page.document.sent, 2)
    assert.deepEqual(events, ['connected', 'synced', 'unsent', 'sent'])
  })

  test('sends an update again whose outcome is unknown, when the connection is back', async (t) => {
    const { document, open, pass } = setUp(t)
    const { page, text, provider } = open()
    await pass()
    text.insert(0, 'once')
    page.drop(() => 0)
    assert.equal(document.sent, 1)
    await pass(10_000)
    assert.equal(provider.unsent, true)
    await page.comeBack()
    page.answer()
    await pass(INTERVAL)
    assert.deepEqual([document.sent, provider.unsent], [2, false])
    document.merge()
    assert.equal(document.stored.getText('text').toString(), 'once')
  })

  test('repeats a retryable refusal after growing pauses, and sends nothing after a final one', async (t) => {
    const { open, pass } = setUp(t)
    t.mock.method(Math, 'random', () => 1)
    const { page, text, provider, events } = open()
    await pass()
    page.refusal = new ClientError({ code: 'rate_limited', message: '', retryable: true })
    text.insert(0, 'x')
    for (const pause of [250, 500, 1000]) {
      page.answer()
      await pass(0)
      await pass(pause - 1)
      assert.equal(page.inFlight.length, 0, `not before ${pause} ms`)
      await pass()
      assert.equal(page.inFlight.length, 1)
    }
    page.refusal = new ClientError({ code: 'rate_limited', message: '', retryable: true, retryInMs: 3000 })
    page.answer()
    await pass(0)
    await pass(2999)
    assert.equal(page.inFlight.length, 0, 'not before the time in the refusal')
    await pass()
    assert.equal(page.inFlight.length, 1)
    page.refusal = new ClientError({ code: 'forbidden', message: '' })
    page.answer()
    await pass(60_000)
    text.insert(0, 'y')
    await pass(60_000)
    assert.equal(page.inFlight.length, 0)
    assert.deepEqual(events.slice(2), ['unsent', 'forbidden'])
    assert.equal(provider.unsent, true)
    page.refusal = null
    page.drop()
    await page.comeBack()
    assert.equal(textOf(page.inFlight[0].update), 'yx', 'access may have changed with the connection')
  })

  test('gives updates that are too large for a record to the service', async (t) => {
    const { open, pass } = setUp(t)
    /** @type {string[]} */
    const stored = []
    const store = async (/** @type {Uint8Array} */ update) => { stored.push(textOf(update)) }
    const { page, text, provider } = open({ store, maxUpdateBytes: 100 })
    await pass()
    text.insert(0, 'x'.repeat(200))
    await pass(INTERVAL)
    assert.deepEqual([stored, page.inFlight.length, provider.unsent], [['x'.repeat(200)], 0, false])
    page.refusal = new ClientError({ code: 'value_too_large', message: '' })
    text.delete(0, 200)
    page.answer()
    await pass(INTERVAL)
    assert.equal(stored.length, 2, 'the gateway\'s limit was lower')
  })

  test('reports an update that is too large for a record and that no service takes', async (t) => {
    const { open, pass } = setUp(t)
    const { page, text, events } = open({ maxUpdateBytes: 100 })
    await pass()
    page.refusal = new ClientError({ code: 'value_too_large', message: '' })
    text.insert(0, 'x'.repeat(200))
    page.answer()
    await pass(INTERVAL)
    assert.deepEqual(events.slice(2), ['unsent', 'value_too_large'])
    assert.equal(text.length, 200, 'the edit stays')
  })

  test('loads again when the service asks for it, and sends what the service lacks', async (t) => {
    const { document, open, pass } = setUp(t)
    const { page, text } = open()
    await pass()
    text.insert(0, 'lost by the service')
    page.answer()
    await pass(INTERVAL)
    document.log = []
    document.storedAt = document.position
    document.publish('yjs:load', null)
    await pass(1000)
    assert.equal(page.loads, 2)
    await pass(1000)
    assert.deepEqual(page.inFlight.map(({ update }) => textOf(update)), ['lost by the service'])
    await pass(5000)
    assert.equal(page.loads, 2, 'the record that asks comes again, and is known')
  })

  test('loads again when the client resumed from a stored position without loading', async (t) => {
    const { document, open, pass } = setUp(t)
    const { page, provider, text } = open({ connect: false })
    const other = new Y.Doc()
    other.getText('text').insert(0, 'stored')
    document.publish('yjs', Y.encodeStateAsUpdate(other))
    document.merge()
    const { open: openDocument } = page
    page.open = async (guid, options) => {
      const { load } = options
      await openDocument.call(page, guid, { ...options, load: async () => undefined })
      const { signal } = new AbortController()
      page.reload = async () => { await load({ position: document.position, reason: 'reload', signal }) }
      return page
    }
    provider.connect()
    await pass()
    assert.equal(text.toString(), 'stored')
  })

  test('waits for the persistence, and sends edits of an earlier session once', async (t) => {
    const { document, open, pass } = setUp(t)
    const earlier = new Y.Doc()
    earlier.getText('text').insert(0, 'known ')
    document.publish('yjs', Y.encodeStateAsUpdate(earlier))
    document.merge()
    earlier.getText('text').insert(6, 'new')
    /** @type {() => void} */
    let loaded = () => {}
    const whenSynced = /** @type {Promise<void>} */ (new Promise((resolve) => { loaded = resolve }))
    const { page, doc } = open({ persistence: { whenSynced } })
    await pass(100)
    assert.equal(page.loads, 0)
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(earlier), 'storage')
    loaded()
    await pass(0)
    await pass()
    assert.equal(page.inFlight.length, 1)
    const { from } = Y.parseUpdateMeta(page.inFlight[0].update)
    assert.deepEqual([...from.values()], [6], 'only what the service lacks')
    page.answer()
    await pass(1000)
    assert.equal(page.inFlight.length, 0)
  })

  test('sends nothing twice that waits in the outbox', async (t) => {
    const { open, pass } = setUp(t)
    const doc = new Y.Doc()
    doc.getText('text').insert(0, 'queued')
    const { page, provider } = open({ queue: true, connect: false }, doc)
    page.pending = [{ id: '1', event: 'yjs', data: Y.encodeStateAsUpdate(doc) }]
    provider.connect()
    await pass()
    await pass(1000)
    assert.deepEqual([provider.synced, page.inFlight.length], [true, 0])
  })

  test('reports a record that is no update, and continues', async (t) => {
    const { document, open, pass } = setUp(t)
    const { text, events } = open()
    await pass()
    document.publish('yjs', new Uint8Array([255, 255, 1]))
    const other = new Y.Doc()
    other.getText('text').insert(0, 'good')
    document.publish('yjs', Y.encodeStateAsUpdate(other))
    assert.equal(text.toString(), 'good')
    assert.deepEqual(events.slice(2), ['bad_update'])
  })

  test('checks `load`, and leaves nothing behind when it is destroyed', async (t) => {
    const { open, pass, timers } = setUp(t)
    assert.throws(() => open({ load: /** @type {any} */ (1) }), /the option `load` must be/)
    const { provider, doc, page } = open({ presence: true })
    await pass()
    doc.getText('text').insert(0, 'x')
    let destroyed = 0
    provider.on('destroy', () => { destroyed++ })
    doc.destroy()
    provider.destroy()
    await pass(100_000)
    assert.deepEqual([destroyed, page.closed, timers.count], [1, true, 0])
    const kept = open()
    await pass()
    kept.provider.destroy()
    kept.text.insert(0, 'x')
    assert.equal(kept.provider.unsent, false)
  })
})

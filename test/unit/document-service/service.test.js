import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createService } from '../../../examples/document-service/service.js'
import { createFileStore, createMemoryStore } from '../../../examples/document-service/stores.js'

/** @typedef {import('../../../examples/document-service/service.js').Outgoing} Outgoing */

const decode = (/** @type {Uint8Array} */ bytes) => JSON.parse(Buffer.from(bytes).toString())

/** @param {number} sequence @param {unknown} data @param {object} [others] */
const message = (sequence, data, others) => ({
  guid: 'plan',
  event: 'sheet:edit',
  uid: 'ada',
  sid: 'connection',
  traceId: `trace-${sequence}`,
  timestamp: 1000 + sequence,
  value: Buffer.from(JSON.stringify(data)),
  decode,
  origin: { source: 'uplink/0', sequence },
  ...others
})
/** @param {number} sequence @param {string} text @param {object} [others] */
const edit = (sequence, text, others) => message(sequence, { id: `ada:${sequence}`, cells: { A2: text } }, others)

/** @param {Partial<Parameters<typeof createService>[0]>} [dependencies] */
function startService (dependencies) {
  /** @type {Outgoing[]} */
  const published = []
  let keys = 0
  const service = createService({
    store: createMemoryStore(),
    publish: async (outgoing) => { published.push(outgoing) },
    newKey: () => `key-${++keys}`,
    ...dependencies
  })
  return { ...service, published }
}

/** @param {Outgoing[]} published @returns {number[]} */
const versions = (published) =>
  published.flatMap(({ value }) => /** @type {any} */ (value).changes ?? []).map(({ version }) => version)

test('changes that arrive together are published together, with trace and time of the last one', async () => {
  const { receive, published, read } = startService()
  await receive([edit(0, 'a'), edit(1, 'b'), message(2, {}, { event: 'message' })])
  assert.equal(published.length, 1)
  assert.deepEqual(
    { ...published[0], value: undefined },
    {
      to: { guid: 'plan' },
      event: 'sheet:changes',
      value: undefined,
      key: 'key-1',
      traceId: 'trace-1',
      timestamp: 1001
    }
  )
  assert.deepEqual(versions(published), [1, 2])
  assert.equal((await read('plan')).cells.A2, 'b')
})

test('a refusal is reported to its sender only, and delays no other change', async () => {
  const { receive, published, read } = startService()
  await receive([edit(0, 'a'), edit(1, 'x'.repeat(1000)), { ...edit(2, ''), value: Buffer.from('{') }, edit(3, 'b')])
  assert.deepEqual(
    published.map(({ to, event, value }) => [
      to,
      event,
      /** @type {any} */ (value).id,
      /** @type {any} */ (value).code
    ]),
    [
      [{ guid: 'plan' }, 'sheet:changes', undefined, undefined],
      [{ sid: 'connection' }, 'sheet:refused', 'ada:1', 'too_long'],
      [{ sid: 'connection' }, 'sheet:refused', undefined, 'bad_data']
    ]
  )
  assert.deepEqual([(await read('plan')).version, (await read('plan')).cells.A2], [2, 'b'])
})

test('a duplicate record changes nothing', async () => {
  const { receive, published } = startService()
  await receive([edit(0, 'a'), edit(1, 'b')])
  await receive([edit(0, 'a'), edit(1, 'b'), edit(2, 'c')])
  assert.deepEqual(versions(published), [1, 2, 3])
})

test('an edit that its client sent twice is applied once', async () => {
  const { receive, published } = startService()
  const queued = (/** @type {number} */ at, /** @type {number} */ number, source = 'queue a') =>
    edit(at, String(number), { queued: { source, sequence: number } })
  // sent again because a worker ended before it had noted the first two, and by another page
  await receive([queued(0, 1), queued(1, 2), queued(2, 1), queued(3, 2)])
  await receive([queued(4, 2), queued(5, 3), queued(6, 1, 'queue b'), edit(7, 'not queued')])
  assert.deepEqual(versions(published), [1, 2, 3, 4, 5])
})

test('a document remembers a thousand queues of clients, those that were used last', async () => {
  const store = createMemoryStore()
  const { receive } = startService({ store })
  const queued = (/** @type {number} */ at, /** @type {string} */ id, number = 1) =>
    edit(at, 'a', { queued: { source: `queue ${id}`, sequence: number } })
  await receive([queued(0, 'first'), queued(1, 'second')])
  await receive(Array.from({ length: 998 }, (_, i) => queued(2 + i, `${i}`)))
  await receive([queued(1000, 'first', 2), queued(1001, 'last')])
  const { read } = /** @type {import('../../../examples/document-service/service.js').Stored} */ (await store.load('plan'))
  assert.deepEqual([Object.keys(read).length, read['queue first'], read['queue second']], [1001, 2, undefined])
})

test('each source has its own sequence', async () => {
  const { receive, published } = startService()
  await receive([edit(5, 'a')])
  await receive([edit(1, 'b', { origin: { source: 'uplink/1', sequence: 1 } }), edit(1, 'c', { origin: undefined })])
  assert.deepEqual(versions(published), [1, 2, 3])
})

test('saved but unpublished changes are published after a restart, with the same key', async () => {
  const store = createMemoryStore()
  const before = startService({ store, publish: () => Promise.reject(new Error('the process ends here')) })
  await assert.rejects(before.receive([edit(0, 'a')]), /ends here/)
  assert.equal((await before.read('plan')).version, 1, 'it was saved before it was published')

  const after = startService({ store, newKey: () => 'key of the next life' })
  await after.receive([edit(0, 'a'), edit(1, 'b')])
  assert.deepEqual(after.published.map(({ key }) => key), ['key-1', 'key of the next life'])
  assert.deepEqual(versions(after.published), [1, 2])
})

test('a change that could not be saved is not published, and can be repeated', async () => {
  const memory = createMemoryStore()
  let full = true
  const store = {
    load: memory.load,
    save: async (/** @type {string} */ guid, /** @type {any} */ stored) =>
      full ? Promise.reject(new Error('disk full')) : memory.save(guid, stored)
  }
  const { receive, published } = startService({ store })
  await assert.rejects(receive([edit(0, 'a')]), /disk full/)
  assert.deepEqual(published, [])
  full = false
  await receive([edit(0, 'a')])
  assert.deepEqual(versions(published), [1])
})

test('documents do not wait for each other, and each keeps its order', async () => {
  /** @type {(() => void)[]} */
  const waiting = []
  /** @type {string[]} */
  const published = []
  const { receive } = startService({
    publish: async ({ to, value }) => {
      if ('guid' in to && to.guid === 'slow') await new Promise((resolve) => waiting.push(() => resolve(undefined)))
      published.push(`${'guid' in to && to.guid} ${/** @type {any} */ (value).changes[0].version}`)
    }
  })
  const slow = [receive([edit(0, 'a', { guid: 'slow' })]), receive([edit(1, 'b', { guid: 'slow' })])]
  await receive([edit(2, 'a', { guid: 'quick' })])
  assert.deepEqual(published, ['quick 1'])
  while (waiting.length > 0 || published.length < 3) {
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(slow)
  assert.deepEqual(published, ['quick 1', 'slow 1', 'slow 2'])
})

test('a memory store has a limit of documents', async () => {
  const { receive } = startService({ store: createMemoryStore({ max: 1 }) })
  await receive([edit(0, 'a')])
  await assert.rejects(receive([edit(1, 'a', { guid: 'another' })]), /1 documents already/)
  await receive([edit(2, 'b')])
})

test('files work for any guid, and remain after a restart', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inkcast-documents-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const store = createFileStore({ directory: join(directory, 'new') })
  await store.start()
  const guid = '../a/b\u00e9'
  await startService({ store }).receive([edit(0, 'kept', { guid })])
  const { receive, read, published } = startService({ store: createFileStore({ directory: join(directory, 'new') }) })
  await receive([edit(0, 'again', { guid })])
  assert.deepEqual(
    [(await read(guid)).cells.A2, (await read('unknown')).version, readdirSync(join(directory, 'new')).length],
    ['kept', 0, 1]
  )
  assert.deepEqual(versions(published), [1], 'from the outbox')
})

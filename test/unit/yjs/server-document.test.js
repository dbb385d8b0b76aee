import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import * as Y from 'yjs'
import { Documents } from '../../../packages/yjs-server/documents.js'
import { Events } from '../../../packages/yjs-server/events.js'
import { Figures } from '../../../packages/yjs-server/figures.js'
import { createCheck } from '../../../packages/yjs-server/hook.js'
import { Store } from '../../../packages/yjs-server/store.js'

const MB = 1024 * 1024
const quiet = { info () {}, error () {} }

/** @param {Uint8Array | null} update */
function textOf (update) {
  const doc = new Y.Doc()
  if (update !== null) Y.applyUpdate(doc, update)
  return doc.getText('text').toString()
}

/** The logs of a gateway, in memory. */
class Logs {
  /** @type {Map<string, { offset: number, event: string, value: unknown }[]>} */
  #logs = new Map()
  /** @type {number[]} */
  cuts = []
  /** @type {string[]} */
  notified = []

  /** @param {string} guid @param {unknown} value */
  publish (guid, value) {
    const log = this.#logs.get(guid) ?? []
    this.#logs.set(guid, log)
    log.push({ offset: log.length + 1, event: 'yjs', value })
  }

  /** @param {string} guid */
  async position (guid) {
    const log = this.#logs.get(guid)
    return log === undefined ? null : { epoch: 'a', offset: log.length }
  }

  /** @param {string} guid @param {{ epoch: string, offset: number } | null} since */
  async history (guid, since) {
    const records = (this.#logs.get(guid) ?? []).slice(since?.offset ?? 0)
    return { records, position: await this.position(guid), gap: null }
  }

  /** @param {string} _guid @param {{ epoch: string, offset: number }} position */
  async cut (_guid, { offset }) { this.cuts.push(offset) }

  /** @param {string} guid */
  async notify (guid) { this.notified.push(guid) }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ hook?: (asked: any) => unknown, maxBytes?: number, maxOpen?: number, disk?: any }} [options]
 */
async function start (t, { hook = () => {}, maxBytes = MB, maxOpen = 10, disk } = {}) {
  const directory = await fs.mkdtemp(join(tmpdir(), 'inkcast-yjs-'))
  t.after(() => fs.rm(directory, { recursive: true }))
  const store = new Store(directory, disk)
  await store.start()
  const inkcast = /** @type {any} */ (new Logs())
  const figures = new Figures(() => ({ open: 0, bytes: 0 }))
  const make = () => new Documents({ store, inkcast, log: quiet, figures }, {
    interval: 1000, keep: 0, maxBytes, maxOpen, maxOpenBytes: MB
  })
  const documents = make()
  const events = new Events({ documents, check: createCheck(hook, quiet), figures })
  let number = 0
  return {
    directory, documents, events, figures, inkcast,
    /** What a new process reads. @param {string} guid */
    stored: async (guid) => textOf((await make().use(guid).read()).update),
    /** @param {string} guid @param {Uint8Array | object} value @param {object} [more] */
    event: (guid, value, more) => ({
      operator: 'message', guid, uid: 'ada', sid: 'connection', event: 'yjs', id: `0-${++number}`,
      time: '2026-11-23T08:00:00.000Z', datacontenttype: 'application/msgpack',
      data_base64: Buffer.from(encode(value)).toString('base64'), ...more
    })
  }
}

/** A page that hands out its updates. */
function page () {
  const doc = new Y.Doc()
  /** @type {Uint8Array[]} */
  const updates = []
  doc.on('update', (update) => updates.push(update))
  const text = doc.getText('text')
  /** @param {string} more */
  function type (more) {
    text.insert(text.length, more)
    return /** @type {Uint8Array} */ (updates.at(-1))
  }
  return { text, updates, type }
}

describe('a document of inkcast-yjs-server', () => {
  test('is stored before its updates are published, in their order, with other messages between them', async (t) => {
    const { events, event, stored } = await start(t)
    const ada = page()
    const [one, two] = [ada.type('one '), ada.type('two')].map((update) => event('minutes', update))
    const chat = { ...event('minutes', {}), event: 'chat', data_base64: undefined, data: { hello: 1 } }
    const published = await events.take([one, chat, { operator: 'online', uid: 'ada' }, two])
    assert.deepEqual(published.map(({ event: name, idempotencyKey }) => [name, idempotencyKey]),
      [['yjs', one.id], ['chat', chat.id], ['yjs', two.id]])
    assert.deepEqual(published[0].valueBase64, one.data_base64)
    assert.deepEqual(published[1].value, { hello: 1 })
    assert.equal(await stored('minutes'), 'one two')
    assert.deepEqual(await events.take([one]), [published[0]], 'a repeated event is published with the same key')
  })

  test('is cut where the file has everything before, also records that a service published', async (t) => {
    const { documents, events, event, inkcast, stored } = await start(t)
    const [ada, service] = [page(), page()]
    const update = ada.type('ada ')
    await events.take([event('minutes', update)])
    for (const one of [update, service.type('service'), 'no update', new Uint8Array([9, 9, 9])]) inkcast.publish('minutes', one)
    assert.equal(await documents.use('minutes').merge(), true)
    assert.deepEqual(inkcast.cuts, [4])
    assert.equal((await stored('minutes')).length, 'ada service'.length)
    const { position } = await documents.use('minutes').read()
    assert.deepEqual(position, { epoch: 'a', offset: 4 })
    assert.equal(await documents.use('minutes').merge(), false)
    assert.deepEqual(inkcast.cuts, [4], 'one cut for one position')
  })

  test('without Yjs is neither stored nor cut', async (t) => {
    const { directory, documents, inkcast } = await start(t)
    inkcast.publish('slides', { slide: 1 })
    await documents.use('slides').merge()
    assert.deepEqual([inkcast.cuts, await fs.readdir(directory)], [[], []])
  })

  test('refuses what the hook refuses, before others see it, and tells its sender alone', async (t) => {
    const { events, event, stored } = await start(t, {
      hook: ({ uid, update }) => {
        if (update.length > 1000) throw new Error('the hook has a defect')
        return uid === 'guest' ? 'guests may only read' : undefined
      }
    })
    const [ada, guest] = [page(), page()]
    const refusedOne = event('minutes', guest.type('guest'), { uid: 'guest', sid: 'g' })
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await events.take([refusedOne]), [{
        operator: 'socket', sid: 'g', event: 'yjs:refused', value: { guid: 'minutes', reason: 'guests may only read' },
        idempotencyKey: `${refusedOne.id}-refused`
      }], 'also if it comes again')
    }
    await events.take([event('minutes', ada.type('ada'))])
    const [large] = await events.take([event('minutes', ada.type('x'.repeat(2000)))])
    assert.equal(large.event, 'yjs:refused')
    const [garbage] = await events.take([event('minutes', new Uint8Array([7, 7, 7]))])
    assert.equal(garbage.event, 'yjs:refused')
    assert.equal(await stored('minutes'), 'ada')
  })

  test('asks the sender for what an update builds on', async (t) => {
    const { events, event, stored } = await start(t)
    const ada = page()
    const [lost, late] = [ada.type('lost '), ada.type('late')]
    const answers = await events.take([event('minutes', late)])
    assert.deepEqual(answers.map(({ operator, event: name }) => [operator, name]), [[undefined, 'yjs'], ['socket', 'yjs:load']])
    await events.take([event('minutes', lost)])
    assert.equal(await stored('minutes'), 'lost late', 'the later one was kept')
  })

  test('is full at its limit, and has room again when text was deleted', async (t) => {
    const { events, event, figures } = await start(t, { maxBytes: 5000 })
    const ada = page()
    await events.take([event('minutes', ada.type('x'.repeat(4000)))])
    const [no] = await events.take([event('minutes', ada.type('y'.repeat(2000)))])
    assert.match(/** @type {any} */ (no.value).reason, /may have 5000/)
    assert.match(String(figures), /inkcast_yjs_too_large_total 1/)
    ada.text.delete(0, 4000)
    await events.take([event('minutes', ada.updates[ada.updates.length - 1])])
    const [yes] = await events.take([event('minutes', ada.updates[1])])
    assert.equal(yes.event, 'yjs')
  })

  test('takes an update in parts, also over a restart', async (t) => {
    const { directory, events, event, figures, inkcast, stored } = await start(t)
    const ada = page()
    const update = ada.type('x'.repeat(3000))
    const parts = [0, 1, 2].map((index) => event('minutes', {
      id: 'large', index, total: 3, bytes: update.slice(index * 1010, (index + 1) * 1010)
    }, { event: 'yjs:part' }))
    assert.deepEqual(await events.take(parts.slice(0, 2)), [])
    const documents = new Documents({ store: new Store(directory), inkcast, log: quiet, figures }, {
      interval: 1000, keep: 0, maxBytes: MB, maxOpen: 10, maxOpenBytes: MB
    })
    const later = new Events({ documents, check: async () => null, figures })
    assert.deepEqual((await later.take([parts[1], parts[2]])).map(({ event: name }) => name), ['yjs:load'])
    assert.equal((await stored('minutes')).length, 3000)
    assert.deepEqual((await later.take([{ ...parts[2], id: 'other' }])).map(({ event: name }) => name), ['yjs:load'],
      'without the parts before it, the sender is asked')
  })

  test('that cannot be stored confirms nothing, and then everything', async (t) => {
    let isFull = false
    const disk = {
      ...fs,
      /** @param {any[]} args */
      async open (...args) {
        const handle = await fs.open(.../** @type {[string]} */ (/** @type {unknown} */ (args)))
        const datasync = handle.datasync.bind(handle)
        handle.datasync = async () => {
          if (isFull && args[1] !== 'r') throw new Error('no space left on device')
          return datasync()
        }
        return handle
      }
    }
    const { events, event, stored } = await start(t, { disk })
    const ada = page()
    await events.take([event('minutes', ada.type('one '))])
    isFull = true
    const second = event('minutes', ada.type('two'))
    await assert.rejects(events.take([second]), /no space/)
    await assert.rejects(events.take([second]), /no space/, 'it does not count as stored')
    isFull = false
    assert.equal((await events.take([second])).length, 1)
    assert.equal(await stored('minutes'), 'one two')
  })

  test('leaves memory for others, unless it is in use; its queue has an end', async (t) => {
    const { documents, events, event } = await start(t, { maxOpen: 2 })
    for (const guid of ['a', 'b', 'c']) await events.take([event(guid, page().type(guid))])
    assert.equal(documents.open, 2)
    const busy = documents.use('b')
    const all = Array.from({ length: 70 }, () => busy.merge())
    const other = (async () => {
      documents.use('c').merge()
      documents.use('d')
      return true
    })()
    const results = await Promise.allSettled([...all, other])
    const refused = results.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 6 + 1, '6 above the queue, and the document for which there is no room')
    assert.equal((await documents.use('a').read()).update !== null, true)
  })
})

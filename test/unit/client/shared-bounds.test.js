import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SharedDocuments } from '../../../client/shared/documents.js'
import { HubTab } from '../../../client/shared/hub-tab.js'
import { Hub } from '../../../client/shared/hub.js'
import { SharedReceipts } from '../../../client/shared/receipts.js'
import { settle } from '../../helpers/scripted-socket.js'
import { listenAsTab, replaceTabChannels } from '../../helpers/tab-channels.js'

/** The limits of docs/shared-tabs.md, without a browser. */

const manager = {
  uri: 'http://gateway',
  decoder: new class { on () {} }(),
  encoder: { encode: (/** @type {unknown} */ packet) => [JSON.stringify(packet)] }
}
const event = (/** @type {unknown} */ payload) => ({ type: 2, data: ['message', payload] })
const isMessage = (/** @type {any} */ { data }) => data !== undefined

describe('the limits of tabs that share a connection', () => {
  replaceTabChannels()

  /** @param {string} id */
  function openTab (id) {
    /** @type {string[]} */
    const ended = []
    const { got, post } = listenAsTab(`tabs ${id}`)
    const tab = new HubTab({
      name: 'tabs', id, manager, onPacket: () => {}, onEnd: (one) => { ended.push(one.id) }
    })
    return { tab, got, post, ended }
  }

  test('a tab that has 5,000 messages to read gets no more, and reconnects', () => {
    const { tab, got, ended } = openTab('slow')
    for (let n = 0; n < 5000; n++) tab.send(event(n))
    assert.deepEqual([got.filter(isMessage).length, ended], [5000, []])
    tab.send(event('one more'))
    assert.deepEqual([got.filter(isMessage).length, got.at(-1), ended], [5000, { bye: true }, ['slow']])
  })

  test('an answer that comes after the end of its tab is dropped', () => {
    const { tab, got, post, ended } = openTab('gone')
    post({ bye: true })
    tab.send(event('late'))
    assert.deepEqual([got, ended], [[], ['gone']])
  })

  test('messages that a tab has read do not count', () => {
    const { tab, post, ended } = openTab('reading')
    for (let n = 0; n < 12_000; n++) {
      tab.send(event(n))
      if (n % 100 === 99) post({ read: 100 })
    }
    assert.deepEqual(ended, [])
  })

  test('the tab after the hundredth has a connection of its own; when one has left there is room again', () => {
    const hub = new Hub({
      name: 'many', options: {}, manager, client: 'client', isOwn: (id) => id === 'own', Connection: /** @type {any} */ (class {})
    })
    const all = listenAsTab('many')
    const hello = (/** @type {string} */ id) => {
      const { got, post } = listenAsTab(`many ${id}`)
      all.post({ hello: id })
      return { answer: Object.keys(got[0])[0], post }
    }
    const tabs = Array.from({ length: 101 }, (_, i) => hello(`${i}`))
    assert.deepEqual(new Set(tabs.slice(0, 100).map(({ answer }) => answer)), new Set(['open']))
    assert.equal(tabs[100].answer, 'full')
    const own = hello('own')
    assert.equal(own.answer, 'open', 'the one of the leader itself')
    own.post({ bye: true })
    tabs[3].post({ bye: true })
    assert.equal(hello('101').answer, 'open')
    assert.equal(hello('102').answer, 'full')
    hub.close(true)
  })

  test('a tab for which more than 10,000 events were held while it caught up loads the document again', async () => {
    /** @type {any[][]} */
    const sent = []
    /** @type {(page: object) => void} */
    let read = () => {}
    const position = { epoch: 'e', offset: 1 }
    const documents = new SharedDocuments({
      request: (name) => name === 'doc:history'
        ? new Promise((resolve) => { read = resolve })
        : Promise.resolve({ ok: true, guid: 'doc', position }),
      emit: (_tab, ...told) => { sent.push(told) },
      emitAll: () => {}
    })
    const [first, second] = /** @type {any[]} */ ([{}, {}])
    await documents.join(first, { guid: 'doc', position })
    const joining = documents.join(second, { guid: 'doc', position: { epoch: 'e', offset: 0 } })
    await settle()
    for (let offset = 2; offset <= 12_000; offset++) documents.onRecord('message', offset, { guid: 'doc', offset }, [])
    read({ ok: true, records: [{ event: 'message', payload: 1, meta: { guid: 'doc', offset: 1 } }], position })
    const { recovered } = await joining
    assert.equal(recovered, false)
    assert.ok(sent.length < 10_010, `${sent.length} events`)
    assert.deepEqual(sent.at(-1), ['doc:resync', { guid: 'doc', position: { epoch: 'e', offset: 12_000 }, reason: 'trimmed' }])
  })

  test('of more than 1,000 requests for acknowledgements the oldest is forgotten', () => {
    const receipts = new SharedReceipts()
    /** @type {number[]} */
    const acknowledged = []
    const ids = Array.from({ length: 1001 }, (_, i) => receipts.open(() => { acknowledged.push(i) }))
    for (const id of [ids[0], ids[1], ids[1], ids[1000]]) receipts.acknowledge(id)
    assert.deepEqual(acknowledged, [1, 1000])
  })
})

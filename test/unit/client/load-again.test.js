import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
// loaded on demand
import '../../../client/document/begin.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

/**
 * Opens `doc` at offset 5 with a `load`, whose calls end when the test resolves them; records what its page sees.
 * @param {import('node:test').TestContext} t
 */
async function openLoaded (t) {
  const time = clientTime(t)
  const scripted = scriptedClient(t)
  const { client, socket } = scripted
  /** @type {((answer?: object) => void)[]} */
  const loads = []
  /** @type {(() => void)[]} */
  const onReason = []
  const opening = client.open('doc', {
    load: () => new Promise((resolve, reject) => {
      const end = (/** @type {any} */ answer) => answer instanceof Error ? reject(answer) : resolve(answer)
      loads.push(end)
    }),
    presence: true,
    onReason: () => { for (const listener of onReason) listener() }
  })
  await settle()
  const joined = (/** @type {number} */ offset) =>
    socket.tells('doc:joined', { guid: 'doc', position: at(offset), recovered: true, members: [], count: 0, version: 1 })
  socket.accepts()
  joined(5)
  const finish = async (/** @type {object} */ answer = at(5)) => {
    await settle()
    for (const end of loads.splice(0)) end(answer)
    await settle()
  }
  await finish()
  const doc = await opening
  /** @type {unknown[]} */
  const seen = []
  doc.on('message', (payload) => { seen.push(payload) })
  doc.on('joined', () => { seen.push('joined') })
  doc.on('presence', ({ joined }) => { seen.push(joined.map(({ uid }) => `${uid} joined`).join()) })
  time.advance(1)
  seen.length = 0
  const record = (/** @type {number} */ offset) => socket.tells('message', offset, { guid: 'doc', offset })
  const resync = (/** @type {number} */ offset) =>
    socket.tells('doc:resync', { guid: 'doc', position: at(offset), reason: 'trimmed' })
  /** Connects again, with a resync, and bob has come. */
  const reconnect = () => {
    client.drop(1000)
    client.connect()
    socket.accepts()
    resync(9)
    joined(9)
    socket.tells('doc:presence', {
      guid: 'doc', from: 1, version: 2, joined: [{ uid: 'bob', id: 'b' }], left: [], changed: [], count: 1
    })
    seen.length = 0
  }
  const fail = async () => {
    t.mock.method(console, 'warn', () => {})
    loads.shift()?.(new Error('unavailable'))
    await settle()
    time.advance(15_000)
    await settle()
  }
  return { ...scripted, doc, seen, loads, onReason, finish, fail, record, resync, reconnect }
}

describe('`joined` and `presence` that arrive while a document is loaded', () => {
  for (const [how, again] of /** @type {[string, (all: Awaited<ReturnType<typeof openLoaded>>) => void][]} */ ([
    ['is loaded again by the page', ({ doc }) => { doc.reload().catch(() => {}) }],
    ['gets another resync', ({ resync }) => resync(9)],
    ['gets more records than it can hold', ({ record }) => { for (let i = 10; i < 10_020; i++) record(i) }]
  ])) {
    test(`reach the page also if it ${how}`, async (t) => {
      const all = await openLoaded(t)
      all.reconnect()
      await settle()
      again(all)
      await all.finish(at(20_000))
      assert.deepEqual(all.seen.filter((event) => typeof event === 'string'), ['joined', 'bob joined'])
    })
  }
})

for (const name of ['doc:status', 'onReason']) {
  test(`a document that its page loads again in a listener to ${name} holds records until this load ends`, async (t) => {
    const all = await openLoaded(t)
    const { doc, seen, loads, finish, record, resync } = all
    let reloads = 0
    const listener = () => { if (doc.status === 'live' && ++reloads === 1) doc.reload().catch(() => {}) }
    if (name === 'doc:status') doc.on('doc:status', listener)
    else all.onReason.push(listener)
    resync(9)
    await settle()
    if (name === 'onReason') await all.fail()
    record(10)
    await finish(at(9))
    assert.equal(doc.status, 'loading')
    record(11)
    assert.deepEqual(seen, [])
    loads.shift()?.(at(10))
    await settle()
    assert.deepEqual(seen, [11])
  })
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { manualTimers } from '../../helpers/manual-timers.js'
import { ScriptedDocument, ScriptedPage } from '../../helpers/scripted-pages.js'

/** @param {import('node:test').TestContext} t */
async function setUp (t) {
  const timers = manualTimers(t)
  const page = new ScriptedPage(new ScriptedDocument())
  const doc = new Y.Doc()
  const provider = new InkcastProvider(/** @type {any} */ (page), 'text', doc, {
    load: async () => ({ update: null, position: null }), state: { app: 'mine' }
  })
  t.after(() => provider.destroy())
  const { awareness } = provider
  awareness.setLocalStateField('user', { name: 'Ada' })
  await setImmediate()
  timers.tick(1)
  await setImmediate()
  return {
    timers, page, provider, awareness, client: doc.clientID,
    other: (/** @type {number} */ id) => awareness.getStates().get(id),
    /** @param {Record<string, any>[]} members */
    members (...members) {
      page.presence.clear()
      for (const member of members) page.presence.set(member.uid, member)
      Object.assign(page.presence, { count: members.length })
      page.emit('presence', {})
    },
    /** @param {unknown} data */
    hear: (data) => page.emit('yjs:awareness', data, {})
  }
}
const grace = { uid: 'grace', id: 'c1', state: { yjs: { client: 7, clock: 3, user: { name: 'Grace' } } } }

describe('awareness', () => {
  test('who is here is presence state; the rest is a signal', async (t) => {
    const { page, awareness, client } = await setUp(t)
    page.signals.length = 0
    awareness.setLocalStateField('cursor', { at: 1 })
    assert.equal(page.states.length, 0, 'a cursor is no presence state')
    const [[event, { clock, ...data }]] = page.signals
    assert.deepEqual([event, data], ['yjs:awareness', { client, state: { user: { name: 'Ada' }, cursor: { at: 1 } } }])
    awareness.setLocalStateField('user', { name: 'Countess' })
    assert.deepEqual(page.states, [{ app: 'mine', yjs: { user: { name: 'Countess' }, client, clock: clock + 1 } }])
  })

  test('a member is shown from the presence at once, and completed by its signals', async (t) => {
    const { members, hear, other } = await setUp(t)
    members(grace)
    assert.deepEqual(other(7), { user: { name: 'Grace' } })
    hear({ client: 7, clock: 3, state: { user: { name: 'Grace' }, cursor: 4 } })
    assert.deepEqual(other(7), { user: { name: 'Grace' }, cursor: 4 })
    hear({ client: 7, clock: 2, state: { cursor: 'old' } })
    assert.equal(other(7)?.cursor, 4, 'an older signal')
    members({ ...grace, state: { yjs: { client: 7, clock: 9, user: { name: 'Hopper' } } } })
    assert.deepEqual(other(7), { user: { name: 'Hopper' }, cursor: 4 })
  })

  test('a member with several pages has each of them', async (t) => {
    const { members, other } = await setUp(t)
    const second = { id: 'c2', state: { yjs: { client: 8, clock: 3, user: { name: 'Grace' } } } }
    members({ ...grace, connections: [{ id: 'c1', state: grace.state }, second] })
    assert.ok(other(7) && other(8))
    members({ ...grace, ...second })
    assert.deepEqual([other(7), other(8)?.user.name], [undefined, 'Grace'])
  })

  test('a page that is gone is removed, and shown again when it is back with the same clock', async (t) => {
    const { members, hear, other } = await setUp(t)
    members(grace)
    hear({ client: 7, clock: 3, state: { user: { name: 'Grace' }, cursor: 4 } })
    members()
    assert.equal(other(7), undefined)
    members({ ...grace, id: 'c2' })
    assert.deepEqual(other(7), { user: { name: 'Grace' } })
    const signal = { client: 7, clock: 3, state: { user: { name: 'Grace' }, cursor: 4 } }
    hear(signal)
    assert.equal(other(7)?.cursor, 4)
    members()
    hear(signal)
    assert.equal(other(7)?.cursor, 4, 'the signal may come before the presence')
  })

  test('a page that said goodbye is not shown while the presence still has it', async (t) => {
    const { members, hear, other } = await setUp(t)
    members(grace)
    hear({ client: 7, clock: 4, state: null })
    assert.equal(other(7), undefined)
    members(grace, { uid: 'alan', id: 'c3', state: {} })
    assert.equal(other(7), undefined)
  })

  test('announces itself to newcomers, spread over time', async (t) => {
    const { members, page, timers, client } = await setUp(t)
    page.signals.length = 0
    members(grace)
    timers.tick(2000)
    assert.deepEqual(page.signals.map(([, { client, state }]) => [client, state.user.name]), [[client, 'Ada']])
    members({ ...grace, state: {} })
    timers.tick(2000)
    assert.equal(page.signals.length, 1, 'a change is no newcomer')
  })

  test('members that are present and do not move stay', async (t) => {
    const { members, timers, other, awareness } = await setUp(t)
    members(grace)
    timers.tick(9_500)
    const known = awareness.meta.get(7)
    assert.ok(known)
    known.lastUpdated -= 60_000 // y-protocols removes it within 3 s
    timers.tick(20_000)
    assert.ok(other(7))
  })

  test('a signal in the name of this page, or with nonsense, changes nothing', async (t) => {
    const { hear, awareness, client } = await setUp(t)
    const before = structuredClone(awareness.getLocalState())
    const nonsense = [null, 1, {}, { client: -1, clock: 1, state: {} }, { client: 7, clock: 'x', state: {} }, { client: 7 }]
    for (const data of [...nonsense, { client, clock: 1000, state: { user: { name: 'Mallory' } } }]) hear(data)
    assert.deepEqual(awareness.getLocalState(), before)
    assert.equal(awareness.getStates().size, 1)
  })

  test('says goodbye when it is closed', async (t) => {
    const { page, provider, client } = await setUp(t)
    provider.destroy()
    const [, { clock, ...data }] = page.signals[page.signals.length - 1]
    assert.deepEqual(data, { client, state: null })
    assert.ok(clock > 0)
  })
})

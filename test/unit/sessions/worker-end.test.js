import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { incarnationName } from '../../../src/people/workers/worker-watch.js'
import { isHeld } from '../../helpers/held.js'
import { GRACE, cluster } from './sessions-fixture.js'

describe('a worker that has ended', () => {
  test('is cleaned up: one offline event for each of its users, and one vacated event for each of its documents', async (t) => {
    const { one, two, store, told } = await cluster(t)
    for (let i = 0; i < 1000; i++) one.connect(`user-${i}`, [`doc-${i % 10}`])
    two.connect('user-0', ['doc-0', 'doc-1'])
    const gone = one.connect('gone', ['doc-0'])
    await told()
    gone.end('timeout')
    // still held during the grace
    await told()
    await one.clean()
    const events = await told()
    const offline = events.filter((event) => event.startsWith('offline'))
    assert.deepEqual(
      offline.sort(),
      [...Array.from({ length: 999 }, (_, i) => `offline user-${i + 1} worker_gone`), 'offline gone timeout'].sort()
    )
    const left = events.filter((event) => event.startsWith('left'))
    assert.deepEqual(
      [
        left.length,
        new Set(left).size,
        left.includes('left user-0 doc-0 worker_gone'),
        left.includes('left gone doc-0 timeout')
      ],
      [1000, 1000, false, true]
    )
    assert.deepEqual(
      events.filter((event) => event.startsWith('vacated')).sort(),
      Array.from({ length: 8 }, (_, i) => `vacated doc-${i + 2}`)
    )
    const held = [{ uid: 'user-0', guid: 'doc-0' }, { uid: 'user-10', guid: 'doc-0' }, { guid: 'doc-0' }, { guid: 'doc-2' }]
    assert.deepEqual(
      await Promise.all(held.map((what) => isHeld(store, what))),
      [true, false, true, false]
    )
    await one.clean()
    assert.deepEqual(await told(), [])
  })

  test('is cleaned up to the end by the next one when the uplink fails midway', async (t) => {
    const { one, state, told } = await cluster(t)
    for (let i = 0; i < 20; i++) one.connect(`user-${i}`, ['a'])
    await told()
    state.uplinkAway = 'unavailable'
    await assert.rejects(one.clean(), { code: 'unavailable' })
    state.uplinkAway = null
    await one.clean()
    const events = await told()
    assert.deepEqual([events.length, new Set(events).size], [41, 41])
  })

  test('is cleaned up but for what is on a node that is down, which follows once', async (t) => {
    const { one, store, state, told } = await cluster(t)
    for (const uid of ['ada', 'bob', 'cyd']) one.connect(uid, ['near', 'far'])
    await told()
    state.down = (key) => key.includes('{u:bob}') || key.includes('{d:far}')
    for (let i = 0; i < 2; i++) await assert.rejects(one.clean(), { code: 'unavailable' })
    assert.deepEqual((await told()).sort(), [
      ...['ada', 'bob', 'cyd'].map((uid) => `left ${uid} near worker_gone`),
      'offline ada worker_gone', 'offline cyd worker_gone', 'vacated near'
    ])
    state.down = null
    await one.clean()
    assert.deepEqual((await told()).sort(), [
      ...['ada', 'bob', 'cyd'].map((uid) => `left ${uid} far worker_gone`), 'offline bob worker_gone', 'vacated far'
    ])
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
  })

  test('does not write under its old name when it continues, because that would never be cleaned up', async (t) => {
    const { one, reborn, store, state, told } = await cluster(t)
    one.connect('ada', ['a'])
    await told()
    await one.clean()
    // it was blocked for longer than its lease, which is not renewed yet
    state.held = false
    one.connect('bob', ['a'])
    assert.deepEqual(await told(), ['left ada a worker_gone', 'offline ada worker_gone', 'vacated a'])
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
    assert.equal(await isHeld(store, { uid: 'bob', guid: 'a' }), false)
    state.held = true
    await reborn()
    assert.deepEqual((await told()).sort(), ['joined ada a', 'joined bob a', 'online ada', 'online bob'])
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
  })

  test('tells again who is online when it continues, also if its connection to the store broke first', async (t) => {
    for (const order of ['before', 'after', 'around']) {
      const { one, reborn, state, told } = await cluster(t)
      one.connect('ada', ['a'])
      await told()
      state.held = false
      // the store may have lost its data, for all that a new connection tells
      if (order !== 'after') one.sessions.lost()
      await one.clean()
      assert.deepEqual((await told()).sort(), ['left ada a worker_gone', 'offline ada worker_gone', 'vacated a'])
      await reborn()
      if (order !== 'before') one.sessions.lost()
      state.held = true
      assert.deepEqual((await told()).sort(), ['joined ada a', 'online ada'], order)
    }
  })

  test('is cleaned up together with a document that its last user had left, and that it did not release', async (t) => {
    const { one, store, state, records, told } = await cluster(t)
    const ada = one.connect('ada', ['a'])
    await told()
    state.keepsDocuments = true
    ada.leave('a')
    assert.deepEqual(await told(), ['left ada a left'])
    await one.clean()
    assert.deepEqual(records.map(({ operator, guid }) => [operator, guid]), [['offline', undefined], ['vacated', 'a']])
    assert.equal(await isHeld(store, { guid: 'a' }), false)
  })

  test('is cleaned up together with a document that it released, and whose event it did not send', async (t) => {
    const { one, two, store, state, told } = await cluster(t)
    const ada = one.connect('ada', ['a'])
    await told()
    state.uplinkAway = 'vacated'
    ada.leave('a')
    assert.deepEqual(await told(), ['left ada a left'])
    assert.deepEqual(await store.documents({ limit: 10 }), [])
    state.uplinkAway = null
    await one.clean()
    assert.deepEqual(await told(), ['offline ada worker_gone', 'vacated a'])
    const eve = two.connect('eve', ['a'])
    await told()
    eve.leave('a')
    assert.deepEqual(await told(), ['left eve a left', 'vacated a'])
  })

  test('but is still alive continues as a new incarnation, with its users registered again', async (t) => {
    const { one, reborn, store, clock, told } = await cluster(t)
    const ada = one.connect('ada', ['a'])
    const bob = one.connect('bob', ['a'])
    await told()
    bob.end()
    await told()
    await one.clean()
    assert.deepEqual((await told()).sort(), [
      'left ada a worker_gone',
      'left bob a closed',
      'offline ada worker_gone',
      'offline bob closed',
      'vacated a'
    ])
    await reborn()
    assert.deepEqual((await told()).sort(), ['joined ada a', 'online ada'])
    assert.deepEqual(
      [await isHeld(store, { uid: 'ada', guid: 'a' }), await isHeld(store, { uid: 'bob', guid: 'a' })],
      [true, false]
    )
    assert.equal((await store.sessions('ada')).length, 1)
    ada.end()
    clock.advance(GRACE + 1)
    assert.deepEqual((await told()).sort(), ['left ada a closed', 'offline ada closed', 'vacated a'])
    assert.equal(incarnationName(1, 2000), '1.2000')
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHeld } from '../../helpers/held.js'
import { GRACE, cluster } from './sessions-fixture.js'

describe('the business services are told', () => {
  test('of the first and the last connection of a user, and of the first and the last that has a document open', async () => {
    const { one, clock, told } = cluster()
    const tab = one.connect('ada', ['a'])
    const other = one.connect('ada', ['a', 'b'])
    assert.deepEqual((await told()).sort(), ['joined ada a', 'joined ada b', 'online ada'])
    tab.end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await told(), [])
    other.end('timeout')
    clock.advance(GRACE + 1)
    assert.deepEqual((await told()).sort(), [
      'left ada a timeout',
      'left ada b timeout',
      'offline ada timeout',
      'vacated a',
      'vacated b'
    ])
  })

  test('which connection it was, and when', async () => {
    const { one, clock, records, rounds } = cluster()
    const began = clock.now()
    const tab = one.connect('ada', ['a'])
    await rounds()
    clock.advance(100)
    tab.end()
    clock.advance(GRACE + 1)
    await rounds()
    const found = Object.fromEntries(
      records.map(({ operator, sid, timestamp, contentType }) => [
        operator,
        { sid, after: timestamp - began, contentType }
      ])
    )
    const contentType = 'application/json'
    for (const operator of ['online', 'joined'])
      assert.deepEqual(found[operator], { sid: tab.id, after: 0, contentType })
    for (const operator of ['offline', 'left'])
      assert.deepEqual(found[operator], { sid: tab.id, after: 100, contentType })
    assert.equal(found.vacated.sid, undefined)
  })

  test('when it is time, and with the time of day, also where the clock of the machine is set meanwhile', async () => {
    const { one, clock, records, rounds, told } = cluster()
    const tab = one.connect('ada', ['a'])
    await told()
    tab.end()
    clock.step(-600_000)
    const left = clock.now()
    clock.advance(GRACE + 1)
    await rounds()
    assert.deepEqual(
      records
        .filter(({ uid }) => uid === 'ada')
        .map(({ operator, timestamp }) => [operator, timestamp - left])
        .sort(),
      [
        ['left', 0],
        ['offline', 0]
      ]
    )
    one.connect('bob', ['a'])
    records.length = 0
    await rounds()
    assert.deepEqual(records.map(({ operator, timestamp }) => [operator, timestamp - clock.now()]).sort(), [
      ['joined', 0],
      ['online', 0]
    ])
  })

  test('at once of a document that is left on purpose', async () => {
    const { one, told } = cluster()
    const tab = one.connect('ada', ['a', 'b'])
    await told()
    tab.leave('a')
    assert.deepEqual(await told(), ['left ada a left', 'vacated a'])
    tab.leave('b', 'revoked')
    assert.deepEqual(await told(), ['left ada b revoked', 'vacated b'])
    tab.join('a')
    assert.deepEqual(await told(), ['joined ada a'])
  })

  test('nothing of who comes back within the grace, here or on another worker, and by whom the document stays open', async () => {
    const { one, two, clock, told } = cluster()
    const first = one.connect('ada', ['a'])
    await told()
    first.end()
    clock.advance(GRACE - 1)
    const second = one.connect('ada', ['a'])
    assert.deepEqual(await told(), [])
    second.end()
    clock.advance(GRACE - 1)
    await told()
    const third = two.connect('ada', ['a'])
    await told()
    clock.advance(2 * GRACE)
    assert.deepEqual(await told(), [])
    const bob = one.connect('bob', ['a'])
    await told()
    third.end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await told(), ['left ada a closed', 'offline ada closed'])
    bob.end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await told(), ['left bob a closed', 'offline bob closed', 'vacated a'])
  })

  test('nothing of who is gone before the first round', async () => {
    const { one, told } = cluster()
    const tab = one.connect('ada', ['a'])
    tab.leave('a')
    assert.deepEqual(await told(), ['online ada'])
  })

  test('once the uplink is back, of what is still so and of what was not told before', async () => {
    const { one, state, clock, told } = cluster()
    const staying = one.connect('ada', ['a'])
    await told()
    state.uplinkAway = 'unavailable'
    one.connect('bob', ['a'])
    staying.end()
    clock.advance(GRACE + 1)
    for (let i = 0; i < 20; i++) {
      clock.advance(1000)
      assert.deepEqual(await told(), [])
    }
    await one.metrics.collect()
    const [{ value }] = (await one.metrics.sessions_pending.get()).values
    assert.equal(value, 4)
    state.uplinkAway = null
    clock.advance(6000)
    assert.deepEqual((await told()).sort(), ['joined bob a', 'left ada a closed', 'offline ada closed', 'online bob'])
  })

  test('again where it is not known whether they heard it', async () => {
    const { one, state, clock, told } = cluster()
    state.uplinkAway = 'timeout'
    one.connect('ada')
    assert.deepEqual(await told(), ['online ada'])
    state.uplinkAway = null
    clock.advance(6000)
    assert.deepEqual(await told(), ['online ada'])
    assert.deepEqual(await told(), [])
  })
})

describe('the store', () => {
  test('knows sessions with their documents, and who was seen when, a minute old at most', async () => {
    const { one, two, store, clock, rounds } = cluster()
    const began = clock.now()
    const tab = one.connect('ada', ['a'])
    two.connect('ada', ['b', 'c'])
    await rounds()
    const sessions = (await store.sessions('ada')).map(({ worker, documents, lastSeen }) => ({
      worker,
      documents,
      lastSeen
    }))
    assert.deepEqual(sessions, [
      { worker: 1, documents: ['a'], lastSeen: began },
      { worker: 2, documents: ['b', 'c'], lastSeen: began }
    ])
    for (let i = 0; i < 61; i++) {
      clock.advance(1000)
      await rounds()
    }
    for (const { lastSeen } of await store.sessions('ada')) assert.ok(lastSeen > began, String(lastSeen - began))
    tab.end()
    await rounds()
    assert.deepEqual((await store.sessions('ada')).map(({ worker }) => worker), [2])
  })

  test('has users in a document until the last connection of each has left it', async () => {
    const { one, two, store, clock, rounds } = cluster()
    const tabs = Array.from({ length: 10 }, (_, i) => [one, two][i % 2].connect(`user-${i % 4}`, ['a']))
    const held = async () => {
      await rounds()
      const all = Array.from({ length: 4 }, (_, i) => isHeld(store, { uid: `user-${i}`, guid: 'a' }))
      return [await isHeld(store, { guid: 'a' }), ...await Promise.all(all)]
    }
    assert.deepEqual(await held(), [true, true, true, true, true])
    for (const tab of tabs.slice(4)) tab.end()
    tabs[0].leave('a')
    tabs[1].end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await held(), [true, false, false, true, true])
  })

  test('is asked for a change of a document only when its first member comes and its last one goes', async () => {
    const { one, store, rounds } = cluster()
    /** @type {string[]} */
    const asked = []
    const { hold } = store
    store.hold = (incarnation, changes) => {
      asked.push(...changes.map(({ uid = '', guid = '', op }) => `${uid}/${guid} ${op}`))
      return hold(incarnation, changes)
    }
    one.connect('ada', ['a'])
    await rounds()
    asked.length = 0
    const second = one.connect('bob', ['a'])
    await rounds()
    assert.deepEqual(new Set(asked), new Set(['bob/ +', 'bob/a +']))
    asked.length = 0
    second.leave('a')
    await rounds()
    assert.deepEqual(new Set(asked), new Set(['bob/a -', 'bob/a =']))
  })

  test('hears of everything when it is back, and nobody is told twice', async () => {
    const { one, store, state, clock, told } = cluster()
    const ada = one.connect('ada', ['a'])
    await told()
    state.storeAway = true
    one.connect('bob', ['a'])
    ada.end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await told(), [])
    state.storeAway = false
    assert.deepEqual((await told()).sort(), ['joined bob a', 'left ada a closed', 'offline ada closed', 'online bob'])
    assert.deepEqual(
      [await isHeld(store, { uid: 'ada', guid: 'a' }), await isHeld(store, { uid: 'bob', guid: 'a' })],
      [false, true]
    )
  })

  test('that has lost everything is told again, and the services are not', async () => {
    const { one, store, told, clock } = cluster()
    const tabs = [one.connect('ada', ['a']), one.connect('bob', ['a', 'b'])]
    await told()
    for (const change of [
      { uid: 'ada' },
      { uid: 'ada', guid: 'a' },
      { uid: 'bob' },
      { uid: 'bob', guid: 'a' },
      { uid: 'bob', guid: 'b' },
      { guid: 'a' },
      { guid: 'b' }
    ]) {
      await store.hold('1.1000', [{ ...change, op: '-', told: '' }])
      await store.hold('1.1000', [{ ...change, op: '=', told: '0' }])
    }
    await store.forget('1.1000')
    assert.deepEqual(await store.sessions('ada'), [])
    one.sessions.lost()
    assert.deepEqual(await told(), [])
    assert.equal((await store.sessions('ada')).length, 1)
    for (const what of [{ uid: 'ada', guid: 'a' }, { uid: 'bob', guid: 'b' }, { guid: 'a' }, { guid: 'b' }])
      assert.equal(await isHeld(store, what), true)
    for (const tab of tabs) tab.end()
    clock.advance(GRACE + 1)
    assert.deepEqual((await told()).sort(), [
      'left ada a closed',
      'left bob a closed',
      'left bob b closed',
      'offline ada closed',
      'offline bob closed',
      'vacated a',
      'vacated b'
    ])
  })

  test('has nothing left of users who have gone', async () => {
    const { one, store, clock, told } = cluster()
    for (let i = 0; i < 100; i++) one.connect(`user-${i}`, ['a', `doc-${i}`]).end()
    await told()
    clock.advance(GRACE + 1)
    await told()
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
    one.sessions.lost()
    await told()
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are kept by the worker`)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHeld } from '../../helpers/held.js'
import { waitFor } from '../../helpers/wait.js'
import { GRACE, cluster } from './sessions-fixture.js'

/** @template T @param {AsyncIterable<T>} all @returns {Promise<T[]>} */
async function pagesOf (all) {
  const pages = []
  for await (const page of all) pages.push(page)
  return pages
}

describe('events for the business services', () => {
  test('report the first and last connection of a user, and the first and last with a document open', async (t) => {
    const { one, clock, told } = await cluster(t)
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

  test('have the connection and the time', async (t) => {
    const { one, clock, records, rounds } = await cluster(t)
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

  test('of a device have its id and its listener, also from the process that cleans up after its worker', async (t) => {
    const { one, store, clock, records, rounds } = await cluster(t)
    const device = { client: 'board', exclusive: true, listener: 'ws:/devices' }
    const board = one.connect('ada', ['a'], device)
    one.connect('page', ['a'], { client: 'tab' })
    one.connect('open', ['a'], device)
    const ended = one.connect('ended', [], device)
    await rounds()
    const listed = async (/** @type {string} */ uid) =>
      (await store.sessions(uid)).map(({ client, listener }) => [client, listener])
    assert.deepEqual(await listed('ada'), [['board', 'ws:/devices']])
    assert.deepEqual(await listed('page'), [['tab', undefined]])
    board.end()
    clock.advance(GRACE + 1)
    await rounds()
    ended.end('timeout')
    await rounds()
    await one.clean()
    const found = (/** @type {string} */ uid) =>
      records.filter((record) => record.uid === uid)
        .map(({ operator, device, listener }) => [operator, device, listener])
    const all = (/** @type {string[]} */ ...names) => names.map((name) => [name, 'board', 'ws:/devices'])
    for (const uid of ['ada', 'open']) assert.deepEqual(found(uid).sort(), all('joined', 'left', 'offline', 'online'))
    assert.deepEqual(found('ended'), all('online', 'offline'))
    assert.ok(found('page').every(([, device, listener]) => device === undefined && listener === undefined))
  })

  test('are sent on time, with the wall-clock time, also if the clock is set', async (t) => {
    const { one, clock, records, rounds, told } = await cluster(t)
    const tab = one.connect('ada', ['a'])
    await told()
    tab.end()
    clock.step(-600_000)
    const left = clock.now()
    clock.advance(GRACE + 1)
    await rounds()
    assert.deepEqual(
      records.filter(({ uid }) => uid === 'ada')
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

  test('report a deliberate leave of a document at once', async (t) => {
    const { one, told } = await cluster(t)
    const tab = one.connect('ada', ['a', 'b'])
    await told()
    tab.leave('a')
    assert.deepEqual(await told(), ['left ada a left', 'vacated a'])
    tab.leave('b', 'revoked')
    assert.deepEqual(await told(), ['left ada b revoked', 'vacated b'])
    tab.join('a')
    assert.deepEqual(await told(), ['joined ada a'])
  })

  test('do not report users that return within the grace, on this or another worker, nor their documents', async (t) => {
    const { one, two, clock, told } = await cluster(t)
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

  test('do not report users that left before the first round', async (t) => {
    const { one, told } = await cluster(t)
    const tab = one.connect('ada', ['a'])
    tab.leave('a')
    assert.deepEqual(await told(), ['online ada'])
  })

  test('report the net change once the uplink is back, and events that were not sent before', async (t) => {
    const { one, state, clock, told } = await cluster(t)
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

  test('are repeated if the outcome is unknown', async (t) => {
    const { one, state, clock, told } = await cluster(t)
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
  test('has what a worker had not written when it began to end', async (t) => {
    const { one, store, clock } = await cluster(t)
    one.connect('ada', ['a'])
    let isStopped = false
    one.sessions.stop().finally(() => { isStopped = true })
    await waitFor(async () => (await clock.pass(20), isStopped), { message: 'it has ended' })
    assert.equal(await isHeld(store, { uid: 'ada' }), true)
  })

  test('has sessions with their documents, and times of last contact, at most a minute old', async (t) => {
    const { one, two, store, clock, rounds } = await cluster(t)
    const began = clock.now()
    const tab = one.connect('ada', ['a'])
    two.connect('ada', ['b', 'c'])
    await rounds()
    const sessions = (await store.sessions('ada')).map(({ worker, documents, lastSeen }) => [worker, documents, lastSeen])
    assert.deepEqual(sessions.sort(), [[1, ['a'], began], [2, ['b', 'c'], began]])
    for (let i = 0; i < 61; i++) {
      clock.advance(1000)
      await rounds()
    }
    for (const { lastSeen } of await store.sessions('ada')) assert.ok(lastSeen > began, String(lastSeen - began))
    tab.end()
    await rounds()
    assert.deepEqual((await store.sessions('ada')).map(({ worker }) => worker), [2])
  })

  test('has a user in a document until the user\'s last connection has left it', async (t) => {
    const { one, two, store, clock, rounds } = await cluster(t)
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

  test('gets a change of a document only for its first and its last member', async (t) => {
    const { one, store, rounds } = await cluster(t)
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

  test('gets all changes when it is back, without duplicate events', async (t) => {
    const { one, store, state, clock, told } = await cluster(t)
    const ada = one.connect('ada', ['a'])
    await told()
    state.storeAway = true
    one.connect('bob', ['a'])
    ada.end()
    clock.advance(GRACE + 1)
    assert.deepEqual(await told(), [])
    state.storeAway = false
    clock.advance(5000)
    assert.deepEqual((await told()).sort(), ['joined bob a', 'left ada a closed', 'offline ada closed', 'online bob'])
    assert.deepEqual(
      [await isHeld(store, { uid: 'ada', guid: 'a' }), await isHeld(store, { uid: 'bob', guid: 'a' })],
      [false, true]
    )
  })

  test('with a node that is down tries its users and documents again after pauses, and writes those of other nodes', async (t) => {
    const { one, state, clock, told } = await cluster(t)
    const ada = one.connect('ada', ['near', 'far'])
    await told()
    state.down = (key) => key.includes('{u:ada}') || key.includes('{d:far}')
    ada.end('left')
    assert.deepEqual(await told(), ['left ada near left', 'vacated near'])
    // gone before it was written: the time of its end is on the node as well
    one.connect('ada').end('left')
    for (let i = 0; i < 20; i++) {
      clock.advance(3000)
      const bob = one.connect(`bob-${i}`, ['near'])
      assert.deepEqual((await told()).sort(), [`joined bob-${i} near`, `online bob-${i}`])
      bob.end('left')
      assert.deepEqual((await told()).sort(), [`left bob-${i} near left`, `offline bob-${i} left`, 'vacated near'])
    }
    assert.ok(state.failures > 10 && state.failures < 80, `${state.failures} failed calls in 640 cycles`)
    state.down = null
    clock.advance(5000)
    assert.deepEqual((await told()).sort(), ['left ada far left', 'offline ada left', 'vacated far'])
    assert.deepEqual(await told(), [])
  })

  test('writes the end of a user of a node that is down later, and those of others at once', async (t) => {
    const { one, store, state, clock, told } = await cluster(t)
    state.down = (key) => key.includes('{u:ada}')
    for (const uid of ['ada', 'bob']) one.connect(uid).end('left')
    const before = clock.now()
    assert.deepEqual(await told(), [])
    assert.deepEqual([await store.lastSeen('ada'), await store.lastSeen('bob')], [null, before])
    state.down = null
    clock.advance(5000)
    assert.deepEqual(await told(), [])
    assert.equal(await store.lastSeen('ada'), before)
  })

  test('that has lost everything is written again, without new events', async (t) => {
    const { one, store, told, clock } = await cluster(t)
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

  test('has no state of users that have left', async (t) => {
    const { one, store, clock, told } = await cluster(t)
    for (let i = 0; i < 100; i++) one.connect(`user-${i}`, ['a', `doc-${i}`]).end()
    await told()
    clock.advance(GRACE + 1)
    await told()
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users remain`)
    one.sessions.lost()
    await told()
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are kept by the worker`)
  })
})

test('users who have left, and are in the store again because it lost its last writes, are released once more', async (t) => {
  const { one, store, told, clock } = await cluster(t)
  const ada = one.connect('ada', ['a', 'b'])
  one.connect('bob', ['b'])
  await told()
  const before = await pagesOf(store.users('1.1000'))
  ada.end()
  clock.advance(GRACE + 1)
  assert.deepEqual((await told()).sort(), ['left ada a closed', 'left ada b closed', 'offline ada closed', 'vacated a'])
  await store.write('1.1000', before.flat())
  await store.hold('1.1000', [
    { uid: 'ada', op: '+', told: '1' }, { uid: 'ada', guid: 'a', op: '+', told: '1' },
    { uid: 'ada', guid: 'b', op: '+', told: '1' }, { guid: 'a', op: '+', told: '1' }
  ])
  one.sessions.lost()
  assert.deepEqual((await told()).sort(),
    ['left ada a worker_gone', 'left ada b worker_gone', 'offline ada worker_gone', 'vacated a'])
  const held = [{ uid: 'ada' }, { uid: 'ada', guid: 'b' }, { guid: 'a' }, { uid: 'bob', guid: 'b' }, { guid: 'b' }]
  assert.deepEqual(await Promise.all(held.map((what) => isHeld(store, what))), [false, false, false, true, true])
  assert.deepEqual((await pagesOf(store.users('1.1000'))).flat().map(([uid]) => uid), ['bob'])
})

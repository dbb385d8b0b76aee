import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InkcastError } from '../../../src/common/errors.js'
import { createMetrics } from '../../../src/metrics/metrics.js'
import { createCleaning } from '../../../src/sessions/cleaning.js'
import { createMemorySessions } from '../../../src/sessions/memory-sessions.js'
import { createSessions } from '../../../src/sessions/registry.js'
import { incarnationName } from '../../../src/workers/worker-watch.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const GRACE = 5000

/** Some workers on one store, with an uplink that may be away. */
function cluster () {
  const clock = manualClock(1_700_000_000_000)
  const { log } = recordingLog()
  const store = createMemorySessions()
  const state = { storeAway: false, held: true, uplinkAway: /** @type {null | 'unavailable' | 'timeout'} */ (null) }
  /** @type {import('../../../src/uplink/contract.js').UplinkRecord[]} */
  const records = []
  const uplink = {
    send: async (/** @type {import('../../../src/uplink/contract.js').UplinkRecord} */ record) => {
      if (state.uplinkAway === 'unavailable') throw new InkcastError('unavailable')
      records.push(record)
      if (state.uplinkAway === 'timeout') throw new InkcastError('timeout')
    }
  }
  /** The store, which may be away for workers. @type {any} */
  const reached = new Proxy(store, {
    get: (target, name) =>
      state.storeAway
        ? async () => {
          throw new InkcastError('unavailable')
        }
        : Reflect.get(target, name)
  })

  /** @param {number} number */
  function worker (number) {
    /** @type {Map<string, Set<any>>} */
    const connections = new Map()
    const metrics = createMetrics({ processMetrics: false })
    const connectionsOf = (/** @type {string} */ uid) => connections.get(uid) ?? []
    const self = () => ({ number, incarnation: 1000, held: state.held })
    const sessions = createSessions({
      store: reached,
      uplink,
      worker: self,
      connectionsOf, metrics, log, clock,
      grace: GRACE,
      silence: 45_000
    })
    let serial = 0
    /** @param {string} uid @param {string[]} [guids] */
    function connect (uid, guids = []) {
      /** @type {Set<string>} */
      const open = new Set()
      const connection = {
        id: `${number}-${uid}-${serial++}`,
        uid,
        client: undefined,
        transport: 'websocket',
        get lastSeen () {
          return clock.now()
        },
        openDocuments: () => [...open]
      }
      connections.set(uid, (connections.get(uid) ?? new Set()).add(connection))
      sessions.connected(connection)
      const tab = {
        ...connection,
        /** @param {string} guid */
        join (guid) {
          open.add(guid)
          sessions.joined(connection, guid)
        },
        /** @param {string} guid @param {string} [reason] */
        leave (guid, reason = 'left') {
          open.delete(guid)
          sessions.left(connection, guid, reason)
        },
        /** @param {string} [reason] */
        end (reason = 'closed') {
          connections.get(uid)?.delete(connection)
          for (const guid of [...open]) tab.leave(guid, reason)
          sessions.disconnected(connection, reason)
        }
      }
      for (const guid of guids) tab.join(guid)
      return tab
    }
    return {
      sessions,
      metrics,
      connect,
      clean: () => createCleaning({ store, uplink, log, clock })(number, 1000, new AbortController().signal)
    }
  }

  const workers = [worker(1), worker(2)]
  /** Everything that is to be brought and told is. */
  async function rounds () {
    for (let i = 0; i < 8; i++) {
      for (const { sessions } of workers) await sessions.run()
      await new Promise((resolve) => { setImmediate(resolve) })
    }
  }
  /** @returns {Promise<string[]>} what was told since the last call */
  async function told () {
    await rounds()
    return records
      .splice(0)
      .map(({ operator, uid, guid, value }) =>
        [operator, uid, guid, JSON.parse(value.toString()).reason].filter((part) => part !== undefined).join(' ')
      )
  }
  return { one: workers[0], two: workers[1], store, state, clock, records, rounds, told }
}

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
    assert.equal(one.sessions.size, 0)
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

  test('counts connections and knows members', async () => {
    const { one, two, store, clock, rounds } = cluster()
    const tabs = Array.from({ length: 10 }, (_, i) => [one, two][i % 2].connect(`user-${i % 4}`, ['a']))
    await rounds()
    assert.deepEqual(
      [await store.connections('a'), (await store.members('a')).sort()],
      [10, ['user-0', 'user-1', 'user-2', 'user-3']]
    )
    for (const tab of tabs.slice(4)) tab.end()
    await rounds()
    assert.equal(await store.connections('a'), 4)
    tabs[0].leave('a')
    tabs[1].end()
    clock.advance(GRACE + 1)
    await rounds()
    assert.deepEqual([await store.connections('a'), (await store.members('a')).sort()], [2, ['user-2', 'user-3']])
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
    assert.deepEqual(await store.members('a'), ['bob'])
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
    assert.deepEqual([await store.sessions('ada'), await store.members('a')], [[], []])
    one.sessions.lost()
    assert.deepEqual(await told(), [])
    assert.equal((await store.sessions('ada')).length, 1)
    assert.deepEqual(
      [(await store.members('a')).sort(), await store.connections('a'), await store.connections('b')],
      [['ada', 'bob'], 2, 1]
    )
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
    assert.equal(one.sessions.size, 0)
  })
})

describe('a worker that has ended', () => {
  test('is cleaned up: each of its users is told to be offline once, and each of its documents to be vacated', async () => {
    const { one, two, store, told } = cluster()
    for (let i = 0; i < 1000; i++) one.connect(`user-${i}`, [`doc-${i % 10}`])
    two.connect('user-0', ['doc-0', 'doc-1'])
    const gone = one.connect('gone', ['doc-0'])
    await told()
    gone.end('timeout')
    // still held, for the grace
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
    assert.deepEqual(
      [
        await store.members('doc-0'),
        await store.connections('doc-0'),
        await store.members('doc-2'),
        await store.connections('doc-2')
      ],
      [['user-0'], 1, [], 0]
    )
    await one.clean()
    assert.deepEqual(await told(), [])
  })

  test('is cleaned up to the end by the next one when the uplink fails midway', async () => {
    const { one, state, told } = cluster()
    for (let i = 0; i < 20; i++) one.connect(`user-${i}`, ['a'])
    await told()
    state.uplinkAway = 'unavailable'
    await assert.rejects(one.clean(), { code: 'unavailable' })
    state.uplinkAway = null
    await one.clean()
    const events = await told()
    assert.deepEqual([events.length, new Set(events).size], [41, 41])
  })

  test('writes nothing under its old name when it goes on: nobody would clean that up', async () => {
    const { one, store, state, told } = cluster()
    one.connect('ada', ['a'])
    await told()
    await one.clean()
    // it stood still for longer than its lease, and has not renewed it yet
    state.held = false
    one.connect('bob', ['a'])
    assert.deepEqual(await told(), ['left ada a worker_gone', 'offline ada worker_gone', 'vacated a'])
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
    assert.deepEqual(await store.members('a'), [])
    state.held = true
    one.sessions.reborn(2000)
    assert.deepEqual((await told()).sort(), ['joined ada a', 'joined bob a', 'online ada', 'online bob'])
    for await (const page of store.users('1.1000')) assert.fail(`${page.length} users are left`)
  })

  test('and lives after all goes on as another: its users are there again', async () => {
    const { one, store, clock, told } = cluster()
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
    one.sessions.reborn(2000)
    assert.deepEqual((await told()).sort(), ['joined ada a', 'online ada'])
    assert.deepEqual(
      [await store.members('a'), await store.connections('a'), (await store.sessions('ada')).length],
      [['ada'], 1, 1]
    )
    ada.end()
    clock.advance(GRACE + 1)
    assert.deepEqual((await told()).sort(), ['left ada a closed', 'offline ada closed', 'vacated a'])
    assert.equal(one.sessions.size, 0)
    assert.equal(incarnationName(1, 2000), '1.2000')
  })
})

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { encodeBody } from '../../src/people/presence/member-view.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { waitFor } from '../helpers/wait.js'
import { fresh } from './bus-fixture.js'

/**
 * The contract of every presence store. An implementation's test calls this with a function that creates stores on one
 * backend, which other tests may use at the same time.
 *
 * @typedef {import('../../src/people/presence/contract.js').PresenceStore} PresenceStore
 * @typedef {import('../../src/people/presence/contract.js').Diff} Diff
 * @typedef {import('../../src/people/presence/contract.js').PresenceChange} PresenceChange
 *
 * @typedef {object} StoreOptions
 * @property {number} [workerNumber]
 * @property {string} [incarnation]
 *
 * @param {string} name
 * @param {() => Promise<{ create: (options: StoreOptions) => Promise<PresenceStore>, stop: () => Promise<void> }>} open
 *   stores of one backend, which only count members above 6; `create` returns a store that is not started
 */
export function presenceContract (name, open) {
  describe(`presence contract: ${name}`, () => {
    const [first, second] = [randomInt(1000, 2000), randomInt(2000, 4000)]
    const ids = [createSessionIds(first, {
      clock: systemClock, random: systemRandom
    }), createSessionIds(second, { clock: systemClock, random: systemRandom })]
    /** @type {{ guid: string, diff: Diff }[]} */
    const seen = []
    /** @type {Awaited<ReturnType<typeof open>>} */
    let backend
    /** @type {PresenceStore} */
    let one
    /** @type {PresenceStore} */
    let two
    /** @type {PresenceStore} */
    let reader

    before(async () => {
      backend = await open()
      one = await backend.create({ workerNumber: first, incarnation: 'a' })
      two = await backend.create({ workerNumber: second, incarnation: 'b' })
      reader = await backend.create({})
      await one.start()
      await two.start({
        onDiff: (guid, diff) => { seen.push({ guid, diff }) },
        onInterrupted: () => {},
        onLost: () => {}
      })
      await reader.start()
    })
    after(() => backend?.stop())

    /** @param {string} guid */
    const diffs = (guid) => seen.filter((each) => each.guid === guid).map(({ diff }) => diff)
    /** @param {string} guid @param {number} count */
    const told = async (guid, count) => {
      await waitFor(() => diffs(guid).length >= count, {
        message: () => `${count} diffs, there are ${diffs(guid).length}`
      })
      return diffs(guid)[count - 1]
    }
    /**
     * @param {PresenceChange['op']} op
     * @param {string} uid
     * @param {string} id
     * @param {object} [state]
     * @param {string} [client]
     * @returns {PresenceChange}
     */
    const change = (op, uid, id, state, client = '') => ({
      op, id, uid, client,
      body: op === '-' || op === '~' ? '' : encodeBody(`name of ${uid}`, state)
    })
    /** @param {string} guid */
    const all = (guid) => reader.page(guid, { limit: 100 })
    /** @param {string} guid @param {string} [uid] */
    const enter = async (guid, uid = 'ada') => {
      const id = ids[0]()
      await one.update(guid, [change('+', uid, id)])
      return id
    }

    test('a document that never had members is empty', async () => {
      assert.deepEqual(await all(fresh()), { version: 0, count: 0, countOnly: false, members: [] })
      assert.deepEqual(await reader.versions([fresh()]), [null])
    })

    test('a new member is published to watching workers, and listed with name and state', async () => {
      const guid = fresh()
      await two.watch(guid)
      const id = ids[0]()
      await one.update(guid, [change('+', 'ada ü"\\', id, { a: [], b: {}, c: 'ü"\u2028/' })])
      const diff = await told(guid, 1)
      const member = { uid: 'ada ü"\\', id, name: 'name of ada ü"\\', state: { a: [], b: {}, c: 'ü"\u2028/' } }
      assert.deepEqual(
        { ...diff, version: 0 },
        {
          from: 0,
          version: 0,
          count: 1,
          kind: 'diff',
          joined: [member],
          changed: [],
          left: [],
          closed: [],
          removed: []
        }
      )
      assert.deepEqual(await all(guid), { version: diff.version, count: 1, countOnly: false, members: [member] })
      assert.deepEqual(await one.versions([fresh(), guid]), [null, diff.version])
    })

    test('versions grow by one with each diff, and an update without a change publishes nothing', async () => {
      const guid = fresh()
      await two.watch(guid)
      const id = await enter(guid)
      await one.update(guid, [change('=', 'ada', id)])
      await one.update(guid, [change('-', 'bob', ids[0]())])
      await one.update(guid, [change('=', 'ada', id, { n: 1 })])
      await told(guid, 2)
      const [before, diff] = diffs(guid)
      assert.deepEqual([diff.from, diff.version, diffs(guid).length], [before.version, before.version + 1, 2])
      assert.deepEqual(diff.changed.map(({ state }) => state), [{ n: 1 }])
    })

    test('connections of a user are one member, on any worker', async () => {
      const guid = fresh()
      await two.watch(guid)
      const a = await enter(guid)
      const b = ids[1]()
      await two.update(guid, [change('+', 'ada', b, { tab: 2 })])
      const diff = await told(guid, 2)
      assert.deepEqual([diff.joined, diff.left, diff.count], [[], [], 1])
      assert.deepEqual(diff.changed[0].connections?.map(({ id }) => id).sort(), [a, b].sort())
      assert.deepEqual((await all(guid)).members, diff.changed)
      await two.update(guid, [change('-', 'ada', b)])
      const closed = await told(guid, 3)
      assert.deepEqual(
        [closed.left, closed.closed, closed.removed, closed.changed.map(({ id }) => id)],
        [[], [b], [b], [a]]
      )
      await one.update(guid, [change('~', 'ada', a)])
      const left = await told(guid, 4)
      assert.deepEqual([left.left, left.closed, left.changed, left.count], [[{ uid: 'ada', ids: [a] }], [], [], 0])
    })

    test('a connection replaces the earlier one of the same client of a user, and no other', async () => {
      const guid = fresh()
      await two.watch(guid)
      const [a, b, c] = [ids[0](), ids[1](), ids[1]()]
      await one.update(guid, [change('+', 'ada', a, {}, 'tab'), change('+', 'bob', ids[0](), {}, 'tab')])
      await two.update(guid, [change('+', 'ada', c, {}, 'other')])
      await two.update(guid, [change('+', 'ada', b, { back: true }, 'tab')])
      const diff = await told(guid, 3)
      assert.deepEqual([diff.joined, diff.left, diff.closed, diff.removed, diff.count], [[], [], [], [a], 2])
      assert.deepEqual(diff.changed[0].connections?.map(({ id }) => id).sort(), [b, c].sort())
      // a late loss of the replaced connection changes nothing
      await one.update(guid, [change('~', 'ada', a)])
      // a state of the replaced connection adds it again
      await one.update(guid, [change('=', 'ada', a, {}, 'tab')])
      assert.deepEqual((await told(guid, 4)).changed[0].connections?.length, 3)
    })

    test('an update with several changes of a member publishes the net change', async () => {
      const guid = fresh()
      await two.watch(guid)
      const [a, b] = [await enter(guid), ids[0]()]
      await one.update(guid, [change('+', 'ada', b), change('~', 'ada', a)])
      const diff = await told(guid, 2)
      assert.deepEqual([diff.joined, diff.left, diff.closed, diff.changed.map(({ id }) => id)], [[], [], [], [b]])
    })

    test('users who left are listed while somebody asks, with name and time, until they are back; the last 100', async () => {
      const guid = fresh()
      const id = await enter(guid, 'early')
      await one.update(guid, [change('-', 'early', id)])
      assert.deepEqual(await reader.left(guid), { users: [], full: false })
      const before = Date.now()
      const [tab, other, eve] = [await enter(guid), await enter(guid), await enter(guid, 'eve')]
      await one.update(guid, [change('-', 'ada', tab), change('~', 'eve', eve)])
      assert.deepEqual((await reader.left(guid)).users.map(({ uid }) => uid), ['eve'])
      await one.update(guid, [change('-', 'ada', other)])
      const { users } = await reader.left(guid)
      assert.deepEqual(users.map(({ uid, name }) => [uid, name]).sort(), [['ada', 'name of ada'], ['eve', 'name of eve']])
      for (const { lastSeen } of users) assert.ok(Math.abs(lastSeen - before) < 60_000, `${lastSeen}`)
      await enter(guid, 'eve')
      assert.deepEqual((await reader.left(guid)).users.map(({ uid }) => uid), ['ada'])
      const many = Array.from({ length: 120 }, (_, i) => change('+', `user-${i}`, ids[0]()))
      await one.update(guid, many)
      await one.update(guid, many.map(({ id, uid }) => change('-', uid, id)))
      const last = await reader.left(guid)
      assert.equal(last.full, true)
      assert.equal(last.users.length, 100)
    })

    test('pages count users, also with many connections', async () => {
      const guid = fresh()
      const uids = ['a', 'aa', 'b', 'ä', 'z']
      await one.update(guid, uids.map((uid) => change('+', uid, ids[0]())))
      await one.update(guid, Array.from({ length: 150 }, () => change('+', 'b', ids[0]())))
      /** @type {string[]} */
      const found = []
      /** @type {import('../../src/people/presence/contract.js').Page | undefined} */
      let page
      do {
        page = await reader.page(guid, { after: page?.cursor, limit: 2 })
        assert.deepEqual(page.count, 5)
        found.push(...page.members.map(({ uid }) => uid))
        for (const { uid, connections } of page.members) assert.equal(connections?.length, uid === 'b' ? 20 : undefined)
      } while (page.cursor !== undefined)
      assert.deepEqual([...found].sort(), [...uids].sort())
      assert.equal((await reader.page(guid, { limit: 5 })).cursor, undefined)
      assert.equal((await reader.page(guid, { limit: 4 })).members.length, 4)
    })

    test('large states end a page early', async () => {
      const guid = fresh()
      for (const uid of ['a', 'b', 'c'])
        await one.update(guid, [change('+', uid, ids[0](), { text: 'x'.repeat(200_000) })])
      const page = await reader.page(guid, { limit: 100 })
      assert.deepEqual([page.members.length, page.cursor], [2, 'b'])
    })

    test('above the bound only the count is published, and below it the list again', async () => {
      const guid = fresh()
      await two.watch(guid)
      const members = Array.from({ length: 7 }, (_, i) => ({ uid: `user-${i}`, id: ids[0]() }))
      await one.update(guid, members.map(({ uid, id }) => change('+', uid, id)))
      const diff = await told(guid, 1)
      assert.deepEqual([diff.kind, diff.count, diff.joined], ['count', 7, []])
      assert.equal((await all(guid)).countOnly, true)
      assert.equal((await all(guid)).members.length, 7)
      // a state alone is stored and not published
      await one.update(guid, [change('=', 'user-0', members[0].id, { n: 1 })])
      await one.update(guid, [change('-', 'user-6', members[6].id)])
      assert.deepEqual([(await told(guid, 2)).kind, diffs(guid)[1].count], ['count', 6])
      await one.update(guid, [change('-', 'user-5', members[5].id)])
      assert.deepEqual([(await told(guid, 3)).kind, diffs(guid)[2].joined], ['list', []])
      assert.deepEqual((await all(guid)).members[0].state, { n: 1 })
      await one.update(guid, [change('-', 'user-4', members[4].id)])
      assert.equal((await told(guid, 4)).kind, 'diff')
    })

    test('forget removes the connections of a dead worker once, and no others', async () => {
      const guid = fresh()
      await two.watch(guid)
      const gone = await backend.create({ workerNumber: 4001, incarnation: '4001.10' })
      await gone.start()
      const lost = Array.from({ length: 3 }, createSessionIds(4001, { clock: systemClock, random: systemRandom }))
      await gone.update(guid, lost.map((id, i) => change('+', `lost-${i}`, id)))
      const id = await enter(guid)
      await gone.update(guid, [change('+', 'ada', createSessionIds(4001, { clock: systemClock, random: systemRandom })())])
      await told(guid, 3)
      await Promise.all([one, two, reader].map((store) => store.forget(4001, '4001.10')))
      const diff = await waitFor(() => diffs(guid)[3])
      assert.deepEqual(diff.left.map(({ uid }) => uid).sort(), ['lost-0', 'lost-1', 'lost-2'])
      assert.deepEqual([diff.count, diff.changed.map(({ uid, id }) => [uid, id])], [1, [['ada', id]]])
      assert.equal(diffs(guid).length, 4)
      await gone.stop()
    })

    test('forget with `surely` does the work although another caller did it before', async () => {
      const guid = fresh()
      const gone = await backend.create({ workerNumber: 4003, incarnation: '4003.10' })
      await gone.start()
      await one.forget(4003, '4003.10')
      await gone.update(guid, [change('+', 'ada', createSessionIds(4003, { clock: systemClock, random: systemRandom })())])
      await two.forget(4003, '4003.10', { surely: true })
      assert.equal((await all(guid)).count, 0)
      await gone.stop()
    })

    test('the next process with a number has no connections of the previous one, and keeps its own', async () => {
      const guid = fresh()
      const newId = createSessionIds(4002, { clock: systemClock, random: systemRandom })
      const earlier = await backend.create({ workerNumber: 4002, incarnation: '4002.9' })
      await earlier.start()
      await earlier.update(guid, [change('+', 'ada', newId())])
      await earlier.stop()
      const next = await backend.create({ workerNumber: 4002, incarnation: '4002.10' })
      await next.start()
      assert.equal((await all(guid)).count, 0)
      const id = newId()
      await next.update(guid, [change('+', 'bob', id)])
      await one.forget(4002, '4002.9')
      assert.deepEqual((await all(guid)).members.map(({ uid }) => uid), ['bob'])
      assert.deepEqual(await next.mine(guid), [id])
      assert.deepEqual(await one.mine(guid), [])
      await next.stop()
    })

    test('forget removes what an earlier incarnation of the number wrote after its own end, and nothing of a later one', async () => {
      const guid = fresh()
      const newId = createSessionIds(4004, { clock: systemClock, random: systemRandom })
      const [earlier, gone, later] = await Promise.all(['4004.9', '4004.10', '4004.11'].map((incarnation) =>
        backend.create({ workerNumber: 4004, incarnation })))
      for (const store of [earlier, gone, later]) await store.start()
      await one.forget(4004, '4004.9')
      for (const [i, store] of [earlier, gone, later].entries()) await store.update(guid, [change('+', `user-${i}`, newId())])
      await one.forget(4004, '4004.10')
      assert.deepEqual((await all(guid)).members.map(({ uid }) => uid), ['user-2'])
      for (const store of [earlier, gone, later]) await store.stop()
    })

    test('unwatch ends delivery of diffs', async () => {
      const [guid, mark] = [fresh(), fresh()]
      await Promise.all([guid, mark].map((each) => two.watch(each)))
      await enter(guid)
      await told(guid, 1)
      two.unwatch(guid)
      await enter(guid, 'bob')
      await enter(mark)
      await told(mark, 1)
      assert.equal(diffs(guid).length, 1)
    })
  })
}

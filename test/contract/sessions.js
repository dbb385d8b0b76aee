import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { isHeld } from '../helpers/held.js'

/**
 * @typedef {import('../../src/people/sessions/contract.js').SessionStore} SessionStore
 * @typedef {import('../../src/people/sessions/contract.js').Told} Told
 */

/**
 * The contract of every session store.
 *
 * @param {string} name
 * @param {(options?: { services: boolean }) => Promise<{ one: SessionStore, two: SessionStore, first: string, second:
 *   string }>} open stores of two workers, and their live incarnations; services: whether there are business services,
 *   default true
 */
export function sessionsContract (name, open) {
  const fresh = (/** @type {string} */ label) => `${label}-${randomBytes(8).toString('hex')}`
  const session = (/** @type {string} */ sid, /** @type {string[]} */ documents = []) => ({
    sid,
    transport: /** @type {const} */ ('websocket'),
    lastSeen: 1_700_000_000_000,
    documents
  })
  /**
   * @param {SessionStore} store
   * @param {string} holder
   * @param {{ uid?: string, guid?: string }} what
   * @param {'+' | '-' | '='} op
   * @param {Told} [told]
   */
  const hold = async (store, holder, what, op, told = '') => {
    const [answer] = await store.hold(holder, [{ ...what, op, told }])
    if (answer instanceof Error) throw answer
    return answer
  }

  describe(`sessions: ${name}`, () => {
    test('sessions of a user are found on all workers that hold the user', async () => {
      const { one, two, first, second } = await open()
      const [ada, bob] = [fresh('ada'), fresh('bob')]
      const mine = { ...session('a1', ['doc, with | and ="ö"']), client: 'tab' }
      await one.write(first, [
        [ada, { sessions: [mine, session('a2')], away: [] }],
        [bob, { sessions: [session('b1')], away: [] }]
      ])
      await two.write(second, [[ada, { sessions: [session('a3')], away: ['x'] }]])
      for (const uid of [ada, bob]) await hold(one, first, { uid }, '+')
      await hold(two, second, { uid: ada }, '+')
      const [number, other] = [first, second].map((incarnation) => parseInt(incarnation, 10))
      const found = await two.sessions(ada)
      assert.deepEqual(
        found.sort((a, b) => (a.sid < b.sid ? -1 : 1)),
        [
          { ...mine, worker: number },
          { ...session('a2'), worker: number },
          { ...session('a3'), worker: other }
        ]
      )
      assert.deepEqual(await one.sessions(bob), [{ ...session('b1'), worker: number }])
      assert.deepEqual(await one.sessions(fresh('nobody')), [])
      await one.write(first, [[ada, null]])
      assert.deepEqual((await one.sessions(ada)).map(({ sid }) => sid), ['a3'])
    })

    test('users of an incarnation are read page by page, each as written last, until they are deleted', async () => {
      const { one, two, first } = await open()
      const uids = Array.from({ length: 1234 }, () => fresh('user'))
      await one.write(
        first,
        uids.map((uid) => [uid, { sessions: [], away: [], end: { sid: 'old', reason: 'closed', at: 1 } }])
      )
      await one.write(
        first,
        uids.map((uid) => [
          uid,
          { sessions: [], away: ['a', 'b'], end: { sid: `sid of ${uid}`, reason: 'closed', at: 2 } }
        ])
      )
      const found = new Map()
      for await (const page of two.users(first)) for (const [uid, user] of page) found.set(uid, user)
      for (const uid of uids)
        assert.deepEqual(found.get(uid), {
          sessions: [],
          away: ['a', 'b'],
          end: { sid: `sid of ${uid}`, reason: 'closed', at: 2 }
        })
      await one.forget(first)
      for await (const page of two.users(first)) assert.fail(`${page.length} are left`)
    })

    test('open documents are listed page by page, each once, with their members on all workers', async () => {
      const { one, two, first, second } = await open()
      const prefix = fresh('docs/')
      const guids = ['a', 'ä', 'b', 'z', '\u{1f600}', '\uff5e'].map((name) => `${prefix}/${name}`)
      const inOrder = guids.map((guid) => Buffer.from(guid)).sort(Buffer.compare).map(String)
      /**
       * @param {string} uid
       * @param {string} guid
       * @returns {import('../../src/people/sessions/contract.js').HoldingChange[]}
       */
      const opened = (uid, guid) => [{ uid, guid, op: '+', told: '' }, { guid, op: '+', told: '1' }]
      await one.hold(first, guids.slice(0, 4).flatMap((guid) => opened('ada', guid)))
      await two.hold(second, guids.slice(2).flatMap((guid) => [...opened('bob', guid), ...opened('cy', guid)]))
      await one.hold(first, opened('ada', `${fresh('other/')}`))
      /** @type {import('../../src/people/sessions/contract.js').OpenDocument[]} */
      const found = []
      for (;;) {
        const page = await one.documents({ prefix, after: found.at(-1)?.guid, limit: 4 })
        found.push(...page)
        if (page.length < 4) break
      }
      assert.deepEqual(found.map(({ guid }) => guid), inOrder)
      const membersOf = Object.fromEntries(found.map(({ guid, members }) => [guid, members]))
      assert.deepEqual(guids.map((guid) => membersOf[guid]), [1, 1, 3, 3, 2, 2])
      assert.equal((await two.documents({ prefix: `${prefix}/\u00e4`, limit: 9 })).length, 1)
      assert.equal((await two.documents({ prefix, after: 'a', limit: 9 })).length, guids.length, 'before the prefix')
      assert.deepEqual(await two.documents({ prefix, after: `${prefix}0`, limit: 9 }), [], 'after the prefix')
      await one.hold(first, [{ guid: guids[0], op: '-', told: '1' }, { guid: guids[2], op: '-', told: '1' }])
      const left = (await two.documents({ prefix, limit: 9 })).map(({ guid }) => guid)
      assert.deepEqual(left.sort(), [guids[1], ...guids.slice(2)].sort(), 'one that another worker holds is open')
    })

    test('a document of an incarnation is known until its release is confirmed, and open until it is released', async () => {
      const { one, two, first, second } = await open()
      const prefix = fresh('docs/')
      const guids = Array.from({ length: 1500 }, (_, i) => `${prefix}/${i}`)
      const heldOf = async (/** @type {string} */ incarnation) => {
        const found = []
        for await (const page of two.held(incarnation)) found.push(...page)
        return found.sort()
      }
      const openOnes = async () => (await two.documents({ prefix, limit: 9 })).map(({ guid }) => guid)
      await one.hold(first, guids.map((guid) => ({ guid, op: '+', told: '1' })))
      assert.deepEqual(await heldOf(first), guids.slice().sort())
      const [a, b, ...others] = guids
      await two.hold(second, [{ guid: b, op: '+', told: '1' }])
      await one.hold(first, others.flatMap((guid) => /** @type {const} */ ([
        { guid, op: '-', told: '' }, { guid, op: '-', told: '0' }
      ])))
      assert.deepEqual(await heldOf(first), [a, b])
      assert.deepEqual(await one.hold(first, [{ guid: b, op: '-', told: '' }]), [''], 'another one holds it')
      assert.deepEqual(await one.hold(first, [{ guid: a, op: '-', told: '' }]), ['0'])
      assert.deepEqual([await heldOf(first), await heldOf(second), await openOnes()], [[a], [b], [b]])
      assert.deepEqual(await one.hold(first, [{ guid: a, op: '-', told: '0' }]), [''])
      assert.deepEqual(await heldOf(first), [])
    })

    test('a connection is found by its id', async () => {
      const { one, two, first } = await open()
      const number = parseInt(first, 10)
      const newId = createSessionIds(number, { clock: systemClock, random: systemRandom })
      const [ada, sid] = [fresh('ada'), newId()]
      await one.write(first, [
        [fresh('bob'), { sessions: [session(newId())], away: [] }],
        [ada, { sessions: [session(newId()), session(sid, ['x'])], away: [] }]
      ])
      assert.deepEqual(await two.session(sid), { ...session(sid, ['x']), worker: number, uid: ada })
      assert.equal(await two.session(newId()), null)
      assert.equal(await two.session('not an id'), null)
    })

    test('lastSeen is the written time, or that of the last `seen` of its worker, whichever is later', async () => {
      const { one, two, first, second } = await open()
      const ada = fresh('ada')
      const at = session('a1').lastSeen
      for (const [store, holder, sid] of /** @type {const} */ ([
        [one, first, 'a1'],
        [two, second, 'a2']
      ])) {
        await store.write(holder, [
          [ada, { sessions: [session(sid), { ...session(`${sid}-later`), lastSeen: at + 1000 }], away: [] }]
        ])
        await hold(store, holder, { uid: ada }, '+')
      }
      await one.seen(first, at + 500)
      const seenOf = (/** @type {import('../../src/people/sessions/contract.js').Session[]} */ sessions) =>
        Object.fromEntries(sessions.map(({ sid, lastSeen }) => [sid, lastSeen - at]))
      assert.deepEqual(seenOf(await two.sessions(ada)), { a1: 500, 'a1-later': 1000, a2: 0, 'a2-later': 1000 })
      for await (const page of two.users(first))
        assert.deepEqual(
          page.map(([uid, { sessions }]) => [uid, seenOf(sessions)]),
          [[ada, { a1: 500, 'a1-later': 1000 }]]
        )
      await two.forget(first)
      for await (const page of two.users(first)) assert.fail(`${page.length} are left`)
    })

    test('of the times at which workers let go of a user the latest stays, in whatever order they are written', async () => {
      const { one, two } = await open()
      const [ada, bob, cyd] = [fresh('ada'), fresh('bob'), fresh('cyd')]
      await one.ended([[ada, 2000], [bob, 1000.5]])
      await two.ended([[ada, 1999], [bob, 3000]])
      assert.deepEqual(await Promise.all([ada, bob, cyd].map((uid) => one.lastSeen(uid))), [2000, 3000, null])
    })

    test('the first holder must report the begin to the services, and the last one the end', async () => {
      const { one, two, first, second } = await open()
      for (const what of [{ uid: fresh('user') }, { uid: fresh('user'), guid: fresh('doc') }]) {
        assert.equal(await hold(one, first, what, '+'), '1')
        assert.equal(await hold(two, second, what, '+'), '', 'the report is in progress')
        assert.equal(await hold(one, first, what, '=', '1'), '')
        assert.equal(await hold(one, first, what, '-'), '')
        assert.equal(await hold(two, second, what, '+'), '', 'once more')
        assert.equal(await hold(two, second, what, '-'), '0')
        assert.equal(await hold(two, second, what, '=', '0'), '')
        assert.equal(await hold(two, second, what, '-'), '', 'the entry is deleted')
        assert.equal(await hold(one, first, what, '+'), '1')
        await hold(one, first, what, '-', '1')
        await hold(one, first, what, '=', '0')
      }
    })

    test('the same holder reports a change that happens during its report afterwards', async () => {
      const { one, two, first, second } = await open()
      const what = { uid: fresh('user') }
      assert.equal(await hold(one, first, what, '+'), '1')
      assert.equal(await hold(two, second, what, '+'), '')
      assert.equal(await hold(two, second, what, '-'), '')
      assert.equal(await hold(one, first, what, '-', '1'), '0')
      assert.equal(await hold(two, second, what, '+'), '', 'the report of the first one is in progress')
      assert.equal(await hold(one, first, what, '=', '0'), '1')
      assert.equal(await hold(one, first, what, '=', '1'), '')
      assert.equal(await hold(two, second, what, '-'), '0')
    })

    test('a holder that does not confirm its report gets the state again, so a lost reply loses no event', async () => {
      const { one, two, first, second } = await open()
      const what = { uid: fresh('user') }
      assert.equal(await hold(one, first, what, '+'), '1')
      assert.equal(await hold(one, first, what, '+'), '1')
      assert.equal(await hold(one, first, what, '-'), '0', 'the begin may have been reported')
      assert.equal(await hold(two, second, what, '='), '')
      assert.equal(await hold(one, first, what, '=', '0'), '')
      assert.equal(await hold(two, second, what, '-'), '')
      assert.equal(await hold(two, second, what, '+'), '1')
    })

    test('a report from before a loss of data is accepted, and the begin of a document is never reported', async () => {
      const { one, two, first, second } = await open()
      const user = { uid: fresh('user') }
      assert.equal(await hold(one, first, user, '+', '1'), '')
      assert.equal(await hold(one, first, user, '-'), '0')
      const document = { guid: fresh('doc') }
      assert.equal(await hold(one, first, document, '+', '1'), '')
      assert.equal(await hold(two, second, document, '+', '1'), '')
      assert.equal(await hold(one, first, document, '-'), '')
      assert.equal(await hold(two, second, document, '-'), '0')
      // a new holder during the report that the document was vacated
      assert.equal(await hold(one, first, document, '+', '1'), '')
      assert.equal(await hold(two, second, document, '=', '0'), '1')
      assert.equal(await hold(two, second, document, '=', '1'), '')
      assert.equal(await hold(one, first, document, '-'), '0')
    })

    test('without services no report is requested', async () => {
      const { one, two, first, second } = await open({ services: false })
      const guid = fresh('doc')
      for (const what of [{ uid: fresh('user') }, { uid: fresh('user'), guid }, { guid }]) {
        /** @type {Told[]} */
        const answers = []
        for (let i = 0; i < 2; i++) {
          for (const [store, holder] of /** @type {const} */ ([
            [one, first],
            [two, second]
          ]))
            answers.push(await hold(store, holder, what, '+'))
          for (const [store, holder] of /** @type {const} */ ([
            [one, first],
            [two, second]
          ]))
            answers.push(await hold(store, holder, what, '='), await hold(store, holder, what, '-'))
        }
        assert.deepEqual(new Set(answers), new Set(['']))
      }
    })

    test('many changes in one call are answered in their order, each for its own document or user', async () => {
      const { one, two, first, second } = await open()
      const guid = fresh('doc')
      const uids = Array.from({ length: 500 }, (_, i) => fresh(`u${i}`))
      const answers = await one.hold(first, [
        ...uids.map((uid) => /** @type {const} */ ({ uid, guid, op: '+', told: '' })),
        { guid, op: '+', told: '1' }
      ])
      assert.deepEqual(answers, [...uids.map(() => '1'), ''])
      const told = uids.slice(400).map((uid) => /** @type {const} */ ({ uid, guid, op: '=', told: '1' }))
      assert.deepEqual(new Set(await one.hold(first, told)), new Set(['']))
      await two.hold(second, uids.slice(450).map((uid) => ({ uid, guid, op: '+', told: '' })))
      await one.hold(first, uids.slice(400).map((uid) => ({ uid, guid, op: '-', told: '' })))
      assert.deepEqual(
        await Promise.all([399, 449, 450, 499].map((i) => isHeld(two, { uid: uids[i], guid }))),
        [true, true, true, true],
        'the report that 449 has left is in progress'
      )
      await one.hold(first, uids.slice(400, 450).map((uid) => ({ uid, guid, op: '=', told: '0' })))
      assert.deepEqual(
        await Promise.all([449, 450].map((i) => isHeld(two, { uid: uids[i], guid }))),
        [false, true]
      )
    })

    test('begins and ends on two workers at the same time are reported once each, alternating', async () => {
      const { one, two, first, second } = await open()
      const what = { uid: fresh('user'), guid: fresh('doc') }
      /** @type {Told[]} */
      const told = []
      await Promise.all([[one, first], [two, second]].map(async ([store, holder]) => {
        const own = /** @type {SessionStore} */ (store)
        for (let i = 0; i < 50; i++) {
          /** @type {Told} */
          let say = ''
          for (const op of /** @type {const} */ (['+', '-'])) {
            do {
              const answer = await hold(own, /** @type {string} */ (holder), what, op, say)
              if (answer !== '') told.push(answer)
              say = answer
            } while (say !== '')
          }
        }
      }))
      assert.deepEqual(told, told.map((_, i) => i % 2 === 0 ? '1' : '0'))
      assert.equal(told.at(-1), '0')
      assert.equal(await isHeld(one, what), false)
    })
  })
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Presence } from '../../../client/presence/presence.js'
import { settle } from '../../helpers/scripted-socket.js'

const member = (/** @type {string} */ uid, more = {}) => ({ uid, id: `${uid}1`, ...more })
/** @param {Partial<import('../../../client/presence/presence.js').Update>} fields */
const update = (fields) => ({ from: 1, version: 2, count: 0, joined: [], left: [], changed: [], ...fields })
const uids = (/** @type {{ uid: string }[]} */ members) => members.map(({ uid }) => uid)

/** A presence, its events, and its requests. */
function scripted () {
  /** @type {object[]} */
  const told = []
  /** @type {{ cursor: string | undefined, answer: (page: any) => void, fail: () => void }[]} */
  const questions = []
  const presence = new Presence(
    Object.assign(new Map(), { count: 0 }),
    (cursor) =>
      new Promise((resolve, reject) => {
        questions.push({ cursor, answer: resolve, fail: () => reject(new Error('no')) })
      }),
    ({ joined, left, changed }) => told.push({ joined: uids(joined), left: uids(left), changed: uids(changed) })
  )
  return { presence, told, questions, there: () => [...presence.members.keys()] }
}

describe('presence', () => {
  test('is the list of the join and the diffs after it', () => {
    const { presence, told, there } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 1 })
    presence.apply(update({ joined: [member('bob')], count: 2 }))
    presence.apply(
      update({ from: 2, version: 3, changed: [member('ada', { state: { line: 3 } })], left: ['bob1'], count: 1 })
    )
    assert.deepEqual(told, [
      { joined: ['ada'], left: [], changed: [] },
      { joined: ['bob'], left: [], changed: [] },
      { joined: [], left: ['bob'], changed: ['ada'] }
    ])
    assert.deepEqual(there(), ['ada'])
    assert.equal(presence.members.count, 1)
    assert.deepEqual(presence.members.get('ada')?.state, { line: 3 })
  })

  test('keeps a user who has closed one of two tabs', () => {
    const { presence, told, there } = scripted()
    presence.joined({
      members: [{ uid: 'ada', id: 'ada2', connections: [{ id: 'ada1' }, { id: 'ada2' }] }],
      count: 1,
      version: 1
    })
    presence.apply(update({ changed: [member('ada')], left: ['ada2'], count: 1 }))
    assert.deepEqual(there(), ['ada'])
    assert.deepEqual(told[1], { joined: [], left: [], changed: ['ada'] })
  })

  test('reports a member of an overlapping diff only if the list did not have it so', () => {
    const { presence, told } = scripted()
    presence.joined({ members: [member('ada'), member('bob')], count: 2, version: 5 })
    presence.apply(update({
      from: 3, version: 6, joined: [member('ada'), member('bob', { state: { line: 1 } }), member('cora')], count: 3
    }))
    assert.deepEqual(told[1], { joined: ['cora'], left: [], changed: ['bob'] })
  })

  test('applies an overlapping diff, and keeps a member that returned within it', () => {
    const { presence, there } = scripted()
    presence.joined({ members: [member('ada'), member('bob')], count: 2, version: 5 })
    presence.apply(
      update({ from: 3, version: 6, joined: [member('ada', { id: 'ada2' })], left: ['ada1', 'bob1'], count: 1 })
    )
    assert.deepEqual(there(), ['ada'])
    assert.equal(presence.members.get('ada')?.id, 'ada2')
  })

  test('drops a diff that is in the list already', () => {
    const { presence, there, questions } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 5 })
    presence.apply(update({ from: 4, version: 5, left: ['ada1'] }))
    assert.deepEqual(there(), ['ada'])
    assert.equal(questions.length, 0)
  })

  test('accepts a list with any version: a store that lost everything may count from a lower one', () => {
    const { presence, there, questions } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 5 })
    presence.apply(update({ from: 0, version: 5, members: [member('bob')], count: 1 }))
    assert.deepEqual(there(), ['bob'])
    presence.apply(update({ from: 0, version: 3, members: [member('cy')], count: 1 }))
    presence.apply(update({ from: 3, version: 4, joined: [member('dan')], count: 2 }))
    assert.deepEqual(there(), ['cy', 'dan'])
    assert.equal(questions.length, 0)
  })

  test('accepts a list in place of the pending response', async () => {
    const { presence, there, questions } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 1 })
    presence.apply(update({ from: 2, version: 3, joined: [member('cy')], count: 2 }))
    presence.apply(update({ from: 0, version: 4, members: [member('bob')], count: 1 }))
    presence.apply(update({ from: 4, version: 5, joined: [member('dan')], count: 2 }))
    questions[0].answer({ members: [member('ada')], count: 1, version: 3 })
    await settle()
    assert.deepEqual(there(), ['bob', 'dan'])
    assert.equal(questions.length, 1)
  })

  test('requests all members page by page if a diff is missing, and applies diffs received in the meantime', async () => {
    const { presence, told, questions, there } = scripted()
    presence.joined({ members: [member('ada'), member('bob')], count: 2, version: 1 })
    presence.apply(update({ from: 2, version: 3, joined: [member('cy')] }))
    presence.apply(update({ from: 3, version: 4, joined: [member('eve')], count: 4 }))
    questions[0].answer({ members: [member('bob')], count: 3, version: 3, cursor: 'bob' })
    await settle()
    assert.equal(questions[1].cursor, 'bob')
    questions[1].answer({ members: [member('cy'), member('dan')], count: 3, version: 3 })
    await settle()
    assert.deepEqual(there(), ['bob', 'cy', 'dan', 'eve'])
    assert.deepEqual(told.slice(1), [
      { joined: ['cy', 'dan'], left: ['ada'], changed: [] },
      { joined: ['eve'], left: [], changed: [] }
    ])
    assert.equal(questions.length, 2)
    assert.equal(presence.members.count, 4)
  })

  test('repeats a failed request with the next diff', async () => {
    const { presence, questions, there } = scripted()
    presence.joined({ members: [], count: 0, version: 1 })
    presence.apply(update({ from: 8, version: 9 }))
    questions[0].fail()
    await settle()
    presence.apply(update({ from: 9, version: 10, joined: [member('bob')] }))
    questions[1].answer({ members: [member('ada'), member('bob')], count: 2, version: 10 })
    await settle()
    assert.deepEqual(there(), ['ada', 'bob'])
  })

  test('ignores responses to requests of a lost connection, and keeps the members until the next join', async () => {
    const { presence, questions, there } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 1 })
    presence.apply(update({ from: 8, version: 9 }))
    presence.lost()
    assert.deepEqual(there(), ['ada'])
    presence.joined({ members: [member('bob')], count: 1, version: 1 })
    questions[0].answer({ members: [member('eve')], count: 1, version: 9 })
    await settle()
    assert.deepEqual(there(), ['bob'])
  })

  test('requests the rest of a list that does not fit into the response to a join', async () => {
    const { presence, questions, there } = scripted()
    presence.joined({ members: [member('ada')], count: 2, version: 1, cursor: 'ada' })
    assert.equal(questions[0].cursor, 'ada')
    questions[0].answer({ members: [member('bob')], count: 2, version: 3 })
    presence.apply(update({ from: 1, version: 2, joined: [member('cy')], count: 3 }))
    await settle()
    assert.deepEqual(there(), ['ada', 'bob', 'cy'])
  })

  test('is replaced by a list from the gateway, and by a number if there are too many members', () => {
    const { presence, told, questions, there } = scripted()
    presence.joined({ members: [member('ada')], count: 1, version: 1 })
    presence.apply(update({ from: 0, version: 20, members: [member('bob'), member('cy')], count: 2 }))
    assert.deepEqual(there(), ['bob', 'cy'])
    presence.apply(update({ from: 20, version: 30, countOnly: true, count: 5000 }))
    assert.deepEqual(there(), [])
    assert.equal(presence.members.count, 5000)
    presence.apply(update({ from: 30, version: 31, countOnly: true, count: 5001 }))
    assert.equal(presence.members.count, 5001)
    assert.deepEqual(told.at(-1), { joined: [], left: [], changed: [] })
    assert.equal(told.length, 4)
    presence.apply(update({ from: 0, version: 40, members: [member('cy')], cursor: 'cy', count: 2 }))
    assert.equal(questions.length, 1)
  })

  test('queues diffs up to a limit, and then repeats its request', async () => {
    const { presence, questions, there } = scripted()
    presence.apply(update({ from: 1, version: 2 }))
    for (let i = 0; i <= 1000; i++) presence.apply(update({ from: 2 + i, version: 3 + i }))
    assert.equal(questions.length, 2)
    questions[1].answer({ members: [member('ada')], count: 1, version: 1003 })
    questions[0].answer({ members: [member('bob')], count: 1, version: 2 })
    await settle()
    assert.deepEqual(there(), ['ada'])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pauseAfter } from '../../../src/people/presence/pacing.js'
import { Merge } from '../../../src/people/presence/diff-merge.js'
import { diffPayload } from '../../../src/people/presence/event-payload.js'

/**
 * @param {number} version
 * @param {Partial<import('../../../src/people/presence/contract.js').Diff>} [fields]
 * @returns {import('../../../src/people/presence/contract.js').Diff}
 */
const diff = (version, fields = {}) => ({
  from: version - 1,
  version,
  count: 1,
  kind: 'diff',
  joined: [],
  changed: [],
  left: [],
  closed: [],
  removed: [],
  ...fields
})
/** @param {string} uid @param {string} id */
const member = (uid, id) => ({ uid, id })

describe('diffs of one cycle', () => {
  test('are merged to one from before the first to after the last', () => {
    const merge = new Merge(4)
    merge.add(diff(5, { joined: [member('a', '1')] }))
    merge.add(diff(6, { joined: [member('b', '2')], count: 7 }))
    assert.deepEqual([merge.from, merge.version, merge.count, [...merge.joined.keys()]], [4, 6, 7, ['a', 'b']])
  })

  test('name all connections of members that lose one after the other, each once', () => {
    const merge = new Merge(0)
    const uids = Array.from({ length: 100 }, (_, i) => `m${i}`)
    uids.forEach((uid, i) => merge.add(diff(i + 1, { changed: [member(uid, `${uid}b`)], removed: [`${uid}a`] })))
    uids.forEach((uid, i) => merge.add(diff(i + 101, { left: [{ uid, ids: [`${uid}b`] }], removed: [`${uid}b`] })))
    assert.deepEqual([...merge.changed.keys()], [])
    const { left } = diffPayload('doc', merge)
    assert.deepEqual(left.toSorted(), uids.flatMap((uid) => [`${uid}a`, `${uid}b`]).toSorted())
  })

  test('do not name connections that ended of members who stay', () => {
    const merge = new Merge(0)
    merge.add(diff(1, { changed: [member('a', '2')], removed: ['1'] }))
    merge.add(diff(2, { left: [{ uid: 'b', ids: ['3'] }], removed: ['3'] }))
    assert.deepEqual([diffPayload('doc', merge).left, merge.size], [['3'], 2])
  })

  test('have each member once, in its final state', () => {
    const merge = new Merge(0)
    merge.add(diff(1, { joined: [member('came', '1')], changed: [member('changed', '2')] }))
    merge.add(diff(2, { changed: [member('came', '3'), member('changed', '4')] }))
    assert.deepEqual(
      [[...merge.joined.values()], [...merge.changed.values()]],
      [[member('came', '3')], [member('changed', '4')]]
    )
  })

  test('list members that left, also if their join was not published; a member that returned has changed', () => {
    const merge = new Merge(0)
    merge.add(diff(1, { joined: [member('a', '1')], changed: [member('b', '2')] }))
    merge.add(diff(2, { left: [{ uid: 'a', ids: ['1'] }, { uid: 'b', ids: ['2'] }, { uid: 'c', ids: ['3'] }] }))
    assert.deepEqual([merge.joined.size, merge.changed.size, [...merge.left.values()].flat()], [0, 0, ['1', '2', '3']])
    merge.add(diff(3, { joined: [member('c', '4')] }))
    assert.deepEqual([[...merge.changed.keys()], [...merge.left.keys()]], [['c'], ['a', 'b']])
  })

  test('have only the number, or the list, as soon as one of them does', () => {
    const merge = new Merge(0)
    merge.add(diff(1, { joined: [member('a', '1')] }))
    merge.add(diff(2, { kind: 'count', count: 600 }))
    assert.deepEqual([merge.kind, merge.size, merge.count], ['count', 0, 600])
    merge.add(diff(3, { kind: 'list', count: 400 }))
    merge.add(diff(4, { joined: [member('b', '2')], count: 401 }))
    assert.deepEqual([merge.kind, merge.size, merge.version, merge.count], ['list', 0, 4, 401])
  })
})

describe('the cycle', () => {
  test('grows with the members of a room, so that all rooms cost the same', () => {
    for (const members of [25, 100, 1000, 1500]) assert.equal(members / pauseAfter(members), 0.5)
  })

  test('has a minimum and a maximum', () => {
    assert.deepEqual([0, 1, 10].map((members) => pauseAfter(members)), [50, 50, 50])
    assert.equal(pauseAfter(100_000), 3000)
  })

  test('is longer after a large message', () => { assert.equal(pauseAfter(1, 2 ** 20), 32_000) })
})

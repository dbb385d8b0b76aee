import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Checker } from '../../fault/checker.js'

const EPOCH = 'a'

/** A client that has joined at offset 0. */
function joined () {
  const checker = new Checker()
  checker.joined({ epoch: EPOCH, offset: 0 })
  return checker
}

/** @param {Checker} checker @param {...[number, number]} records number and offset */
const get = (checker, ...records) => records.map(([number, offset]) => checker.record(number, offset))

/** @param {Checker} checker */
const faultsOf = (checker) => checker.faults.map(({ fault }) => fault)

test('complete and ordered records are without fault, from any first number', () => {
  const checker = joined()
  get(checker, [7, 1], [8, 2], [9, 3])
  assert.deepEqual(
    [checker.faults, checker.received, checker.last, checker.resumeFrom],
    [[], 3, 9, { epoch: EPOCH, offset: 3 }]
  )
})

test('a duplicate is dropped by its offset', () => {
  const checker = joined()
  assert.deepEqual(get(checker, [1, 1], [2, 2], [1, 1], [2, 2], [3, 3]), [true, true, false, false, true])
  assert.deepEqual([checker.faults, checker.received, checker.repeated], [[], 3, 2])
})

test('a missing offset is a loss, and so is a missing number', () => {
  const hole = joined()
  get(hole, [1, 1], [3, 3])
  assert.deepEqual(faultsOf(hole), ['lost'])
  const never = joined()
  get(never, [1, 1], [3, 2])
  assert.deepEqual(faultsOf(never), ['lost'])
})

test('a repeated number is a duplicate, an earlier one is out of order', () => {
  const checker = joined()
  get(checker, [1, 1], [2, 2], [2, 3], [1, 4])
  assert.deepEqual(faultsOf(checker), ['doubled', 'disordered'])
})

test('a resync replaces the records up to its position, and none after it', () => {
  const checker = joined()
  get(checker, [1, 1])
  checker.resync({ epoch: 'b', offset: 3 })
  get(checker, [5, 4], [6, 5])
  assert.deepEqual([checker.faults, checker.bridged, checker.resyncs], [[], 3, 1])
  get(checker, [8, 6])
  assert.deepEqual(faultsOf(checker), ['lost'])
})

test('after a resync the next record is the one after its position, and earlier ones are dropped', () => {
  const later = joined()
  later.resync({ epoch: 'b', offset: 3 })
  get(later, [5, 5])
  assert.deepEqual(faultsOf(later), ['lost'])
  const again = joined()
  get(again, [1, 1], [2, 2])
  again.resync({ epoch: 'b', offset: 0 })
  get(again, [2, 1])
  assert.deepEqual(faultsOf(again), ['doubled'])
})

test('a resync to a position that the client already has is unneeded', () => {
  const checker = joined()
  get(checker, [1, 1], [2, 2])
  checker.resync({ epoch: EPOCH, offset: 2 })
  assert.deepEqual(faultsOf(checker), ['unneeded resync'])
})

test('a join response ahead of the delivered records is a loss', () => {
  const checker = joined()
  get(checker, [1, 1])
  checker.joined({ epoch: EPOCH, offset: 1 })
  assert.deepEqual(checker.faults, [])
  checker.joined({ epoch: EPOCH, offset: 2 })
  checker.joined({ epoch: 'b', offset: 1 })
  assert.deepEqual(faultsOf(checker), ['lost', 'lost'])
})

test('records may arrive before the response to the first join', () => {
  const checker = new Checker()
  get(checker, [4, 4])
  assert.equal(checker.resumeFrom, null)
  checker.joined({ epoch: EPOCH, offset: 3 })
  get(checker, [5, 5])
  assert.deepEqual([checker.faults, checker.resumeFrom], [[], { epoch: EPOCH, offset: 5 }])
})

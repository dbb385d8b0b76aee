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

test('what is complete and in order has no fault, from whatever number on', () => {
  const checker = joined()
  get(checker, [7, 1], [8, 2], [9, 3])
  assert.deepEqual(
    [checker.faults, checker.received, checker.last, checker.resumeFrom],
    [[], 3, 9, { epoch: EPOCH, offset: 3 }]
  )
})

test('what comes again is dropped by its offset', () => {
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

test('a number that comes twice is doubled, an earlier one out of order', () => {
  const checker = joined()
  get(checker, [1, 1], [2, 2], [2, 3], [1, 4])
  assert.deepEqual(faultsOf(checker), ['doubled', 'disordered'])
})

test('a resync stands for what is between, and for nothing after it', () => {
  const checker = joined()
  get(checker, [1, 1])
  checker.resync({ epoch: 'b', offset: 3 })
  get(checker, [5, 4], [6, 5])
  assert.deepEqual([checker.faults, checker.bridged, checker.resyncs], [[], 3, 1])
  get(checker, [8, 6])
  assert.deepEqual(faultsOf(checker), ['lost'])
})

test('after a resync the next record is the one after its position, and none that was there before', () => {
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

test('a resync to what the client has is one too many', () => {
  const checker = joined()
  get(checker, [1, 1], [2, 2])
  checker.resync({ epoch: EPOCH, offset: 2 })
  assert.deepEqual(faultsOf(checker), ['unneeded resync'])
})

test('an answer to a join says more than the client has been sent: that is a loss', () => {
  const checker = joined()
  get(checker, [1, 1])
  checker.joined({ epoch: EPOCH, offset: 1 })
  assert.deepEqual(checker.faults, [])
  checker.joined({ epoch: EPOCH, offset: 2 })
  checker.joined({ epoch: 'b', offset: 1 })
  assert.deepEqual(faultsOf(checker), ['lost', 'lost'])
})

test('records may come before the answer to the first join', () => {
  const checker = new Checker()
  get(checker, [4, 4])
  assert.equal(checker.resumeFrom, null)
  checker.joined({ epoch: EPOCH, offset: 3 })
  get(checker, [5, 5])
  assert.deepEqual([checker.faults, checker.resumeFrom], [[], { epoch: EPOCH, offset: 5 }])
})

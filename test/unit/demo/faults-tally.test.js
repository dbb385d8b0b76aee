import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTLE, Tally } from '../../../packages/demo/page/js/faults-tally.js'

const RUN = 'a'

/** @param {Partial<import('../../../packages/demo/page/js/faults-tally.js').Published>} [published] */
const said = (published = {}) => ({ run: RUN, first: 1, sent: 0, open: [], refused: [], running: true, ...published })

/** @param {number} [sent] before the page listens */
function counting (sent = 0) {
  const tally = new Tally()
  tally.begin(said({ sent }))
  tally.update(said({ sent }), 0)
  return tally
}

/** @param {Tally} tally @param {readonly number[]} numbers @param {number} [now] */
const arrive = (tally, numbers, now = 0) => { for (const number of numbers) tally.numbered(RUN, number, now) }

/** @param {Tally} tally */
const figures = ({ published, received, onTheWay, lost }) => ({ published, received, onTheWay, lost })

test('every acknowledged record has arrived: none is lost', () => {
  const tally = counting()
  arrive(tally, [1, 2, 3])
  tally.update(said({ sent: 3 }), 10)
  assert.deepEqual(figures(tally), { published: 3, received: 3, onTheWay: 0, lost: 0 })
})

test('one that does not arrive is on its way, and lost when that takes too long', () => {
  const tally = counting()
  arrive(tally, [1, 3])
  tally.update(said({ sent: 3 }), 10)
  assert.deepEqual(figures(tally), { published: 3, received: 2, onTheWay: 1, lost: 0 })
  tally.update(said({ sent: 3 }), 10 + SETTLE - 1)
  assert.equal(tally.lost, 0)
  tally.update(said({ sent: 3 }), 10 + SETTLE)
  assert.deepEqual(figures(tally), { published: 3, received: 2, onTheWay: 0, lost: 1 })
  arrive(tally, [4])
  tally.update(said({ sent: 4 }), 20 + SETTLE)
  assert.deepEqual(figures(tally), { published: 4, received: 3, onTheWay: 0, lost: 1 })
})

test('a lost one that arrives after all is lost no longer', () => {
  const tally = counting()
  tally.update(said({ sent: 1 }), 0)
  tally.update(said({ sent: 1 }), SETTLE)
  assert.equal(tally.lost, 1)
  arrive(tally, [1])
  assert.deepEqual(figures(tally), { published: 1, received: 1, onTheWay: 0, lost: 0 })
})

test('one that is not acknowledged is not expected, whether it arrives or not', () => {
  const tally = counting()
  arrive(tally, [1, 2])
  tally.update(said({ sent: 3, open: [2, 3] }), 0)
  assert.deepEqual(figures(tally), { published: 1, received: 1, onTheWay: 0, lost: 0 })
  tally.update(said({ sent: 3, open: [3] }), SETTLE)
  assert.deepEqual(figures(tally), { published: 2, received: 2, onTheWay: 0, lost: 0 })
  // the publisher has given it up
  tally.update(said({ sent: 4, refused: [3] }), 2 * SETTLE)
  arrive(tally, [4])
  tally.update(said({ sent: 4, refused: [3] }), 2 * SETTLE)
  assert.deepEqual(figures(tally), { published: 3, received: 3, onTheWay: 0, lost: 0 })
})

test('records of before the page listened, and of another run, are not counted', () => {
  const tally = counting(100)
  arrive(tally, [99, 100, 101])
  tally.numbered('b', 5, 0)
  tally.update(said({ sent: 101 }), 0)
  assert.deepEqual(figures(tally), { published: 1, received: 1, onTheWay: 0, lost: 0 })
  tally.update(said({ run: 'b', sent: 7 }), 0)
  tally.numbered('b', 8, 0)
  tally.update(said({ run: 'b', sent: 8 }), 0)
  assert.deepEqual(figures(tally), { published: 2, received: 2, onTheWay: 0, lost: 0 })
})

test('the longest pause is that between two numbered records while they are published', () => {
  const tally = counting()
  arrive(tally, [1], 1000)
  arrive(tally, [2], 1050)
  arrive(tally, [3], 1850)
  tally.update(said({ sent: 3, running: false }), 2000)
  tally.update(said({ sent: 3 }), 60_000)
  arrive(tally, [4], 60_100)
  arrive(tally, [5], 60_150)
  assert.equal(tally.longestPause, 800)
})

test('gaps, duplicates and a wrong order show in the offsets', () => {
  const tally = counting()
  for (const offset of [7, 8, 11, 9, 11]) tally.record(offset)
  assert.deepEqual([tally.gaps, tally.outOfOrder, tally.duplicates], [1, 1, 1])
  tally.resync(40)
  tally.record(41)
  assert.deepEqual([tally.gaps, tally.resyncs], [1, 1])
})

test('a record that arrives while the page asks what was published is not lost', () => {
  const tally = new Tally()
  arrive(tally, [7, 8, 9])
  tally.begin(said({ sent: 7 }))
  arrive(tally, [10])
  tally.update(said({ sent: 10 }), 10)
  assert.deepEqual(figures(tally), { published: 3, received: 3, onTheWay: 0, lost: 0 })
})

test('records that went to another document between two looks are not expected', () => {
  const tally = counting(5)
  arrive(tally, [8, 9])
  tally.update(said({ first: 8, sent: 9 }), 0)
  tally.update(said({ first: 8, sent: 9 }), SETTLE)
  assert.deepEqual(figures(tally), { published: 2, received: 2, onTheWay: 0, lost: 0 })
})

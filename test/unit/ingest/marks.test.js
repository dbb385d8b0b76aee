import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { Marks } from '../../../src/ingest/marks.js'
import { createMemoryMarks } from '../../helpers/memory-marks.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const NOW = 1_700_000_000_000
const WEEK = 7 * 86_400_000
const { log } = recordingLog()
const clock = { ...systemClock, now: () => NOW, monotonic: () => 0, sleep: async () => {} }
const { signal } = new AbortController()
/** @param {number} sequence @param {number} [epoch] */
const at = (sequence, epoch) => ({ source: 't/0', sequence, epoch })

/** @param {import('../../../src/ingest/marks.js').MarkStore} [store] */
async function ready (store = createMemoryMarks()) {
  const marks = new Marks({ store, clock, log, interval: 1, random: systemRandom })
  await marks.ready('t/0', signal)
  return { marks, store }
}

test('records below the mark count as processed at any age, records above it do not', async () => {
  const { marks } = await ready({ ...createMemoryMarks(), read: async () => ['20.4'] })
  assert.deepEqual([marks.passesOver(at(20, 4), NOW), marks.passesOver(at(0, 1), NOW - WEEK)], [true, true])
  assert.deepEqual(
    [marks.passesOver(at(21, 4), NOW - WEEK), marks.passesOver(at(11, 5), NOW)],
    [false, false],
    'late records are not lost, and a later leader wrote other records'
  )
})

test('without a mark only recent records are processed, also after a restart within the backlog', async () => {
  const { marks, store } = await ready()
  assert.deepEqual([marks.passesOver(at(0, 1), NOW - WEEK), marks.passesOver(at(1, 1), NOW - 60_000)], [true, false])
  marks.done(at(0, 1), { timestamp: NOW - WEEK, last: false, generation: 'g' })
  await marks.stop()
  const next = await ready(store)
  assert.equal(next.marks.passesOver(at(1, 1), NOW - WEEK), true)
  next.marks.done(at(2, 1), { timestamp: NOW - WEEK, last: true, generation: 'g' })
  assert.equal(next.marks.passesOver(at(3, 1), NOW - WEEK), false, 'the end was reached: later records are new')
})

test('a mark only moves forward, is stored, and read by the next member', async () => {
  const { marks, store } = await ready()
  marks.done(at(20, 4), { timestamp: NOW, last: false, generation: 'g' })
  marks.done(at(10, 4), { timestamp: NOW, last: false, generation: 'g' })
  await waitFor(async () => (await store.read(['t/0']))[0] === '20.4')
  marks.done(at(11, 5), { timestamp: NOW, last: false, generation: 'g' })
  marks.keep(() => false)
  assert.equal((await store.read(['t/0']))[0], '11.5', 'stored before the partition is released')
  assert.deepEqual(await (await ready(store)).marks.read(['t/0', 't/1']), [{ sequence: 11, epoch: 5 }, undefined])
})

test('a record that was carried out ahead of an earlier one is skipped until its partition has passed it', async () => {
  const { marks } = await ready({ ...createMemoryMarks(), read: async () => ['20.4'] })
  const passed = (/** @type {number[]} */ ...sequences) => sequences.map((each) => marks.passesOver(at(each, 4), NOW))
  marks.carriedOutAhead('t/0', [at(23, 4), at(25, 4)])
  assert.deepEqual(passed(22, 23, 24, 25), [false, true, false, true])
  assert.equal(marks.passesOver(at(23, 5), NOW), false, 'another leader has written another record')
  marks.done(at(23, 4), { timestamp: NOW, last: false, generation: 'g' })
  assert.deepEqual(passed(23, 24, 25), [true, false, true], 'the mark is behind the first one')
  marks.keep(() => false)
  assert.deepEqual(passed(23, 24, 25), [false, false, false])
})

test('a partition that was with another process in between has the mark that this process stored', async () => {
  const { marks, store } = await ready()
  marks.done(at(20, 4), { timestamp: NOW, last: false, generation: 'g' })
  marks.keep(() => false)
  await store.write([['t/0', '30.4', 'g']])
  await marks.ready('t/0', signal)
  assert.equal(marks.passesOver(at(30, 4), NOW), true)
})

test('a failed store is retried', async () => {
  let failures = 3
  const inner = createMemoryMarks()
  const fail = () => { if (failures-- > 0) throw new Error('unavailable') }
  const { marks } = await ready({
    read: async (sources) => {
      fail()
      return inner.read(sources)
    },
    write: async (changed) => {
      fail()
      return inner.write(changed)
    }
  })
  failures = 2
  marks.done(at(5), { timestamp: NOW, last: true, generation: 'g' })
  await waitFor(async () => (await inner.read(['t/0']))[0] === '5')
})

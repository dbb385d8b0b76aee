import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../../../src/watch/inspect/collector.js'
import { MAX_WATCHES, Watches } from '../../../src/watch/inspect/watches.js'
import { manualClock } from '../../helpers/manual-clock.js'

test('a watch ends by itself when it is not announced again', () => {
  const watches = new Watches()
  assert.equal(watches.note({ id: 'a', guid: 'g', lease: 10_000 }, 0), true)
  assert.equal(watches.note({ id: 'a', guid: 'g', lease: 10_000 }, 6000), false, 'an announcement of a known one')
  watches.expire(15_999)
  assert.deepEqual(watches.of({ guid: 'g' }), ['a'])
  watches.expire(16_000)
  assert.deepEqual(watches.of({ guid: 'g' }), [])
  assert.equal(watches.size, 0)
})

test('a lease has a maximum, and one of 0 ends the watch', () => {
  const watches = new Watches()
  watches.note({ id: 'a', uid: 'u', lease: 1e9 }, 0)
  watches.note({ id: 'b', uid: 'u', lease: 1000 }, 0)
  assert.equal(watches.hasUsers, true)
  watches.note({ id: 'b', uid: 'u', lease: 0 }, 0)
  assert.deepEqual(watches.of({ uid: 'u' }), ['a'])
  watches.expire(30_000)
  assert.equal(watches.hasUsers, false)
})

test('a record belongs to the watches of its document, user and trace', () => {
  const watches = new Watches()
  watches.note({ id: 'a', guid: 'g', lease: 1000 }, 0)
  watches.note({ id: 'b', guid: 'g', lease: 1000 }, 0)
  watches.note({ id: 'c', uid: 'u', lease: 1000 }, 0)
  watches.note({ id: 'd', traceId: 't', lease: 1000 }, 0)
  assert.deepEqual(watches.of({ guid: 'g', uid: 'u', traceId: 't' }), ['a', 'b', 'c', 'd'])
  assert.deepEqual(watches.of({ guid: 'u', uid: 't', traceId: 'g' }), [])
  assert.deepEqual(watches.of({}), [])
})

test('malformed watches, and those above the maximum, are ignored', () => {
  const watches = new Watches()
  for (const wrong of [
    { id: 'x', lease: 1000 }, { id: 7, guid: 'g', lease: 1000 }, { id: 'y', guid: 'g' }, { id: 'z', guid: 7, lease: 1000 }
  ])
    assert.equal(watches.note(/** @type {any} */ (wrong), 0), false)
  for (let i = 0; i < MAX_WATCHES + 5; i++) watches.note({ id: `w${i}`, guid: 'g', lease: 1000 }, 0)
  assert.equal(watches.size, MAX_WATCHES)
})

test('above 1,000 events a second those of a watch are left out, and counted; other watches get theirs', () => {
  const clock = manualClock()
  const collector = new Collector(clock)
  const event = /** @type {any} */ ({ at: 0, hop: 'received' })
  for (let i = 0; i < 1500; i++) collector.add(['a'], event)
  collector.add(['b'], event)
  const [a, b] = collector.take(() => true)
  assert.deepEqual([a.events.length, a.leftOut, b.events.length], [1001, 500, 1])
  assert.deepEqual(a.events.at(-1), { at: clock.now(), hop: 'left_out', count: 500 })
  clock.advance(1000)
  collector.add(['a'], event)
  assert.deepEqual(collector.take(() => true).map(({ id, events }) => [id, events.length]), [['a', 1]])
})

test('events of a watch that has ended are dropped', () => {
  const collector = new Collector(manualClock())
  collector.add(['a'], { at: 0, hop: 'received' })
  assert.deepEqual(collector.take(() => false), [])
  assert.deepEqual(collector.take(() => true), [])
})

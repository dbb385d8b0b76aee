import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../src/transport/engine/deadlines.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @returns {any} */
const fake = () => ({ destroyed: false, destroy () { this.destroyed = true } })

test('connections beyond their deadline are closed, others are not', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(10_000, clock)
  const [first, kept, second] = [fake(), fake(), fake()]
  for (const socket of [first, kept, second]) deadlines.add(socket)
  assert.equal(deadlines.delete(kept), true)
  assert.equal(deadlines.delete(kept), false)
  clock.advance(9_999)
  assert.deepEqual([first.destroyed, kept.destroyed, second.destroyed, deadlines.size], [false, false, false, 2])
  clock.advance(1)
  assert.deepEqual([first.destroyed, kept.destroyed, second.destroyed, deadlines.size], [true, false, true, 0])
})

test('a connection that gets another deadline delays no other one', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(10_000, clock)
  const [again, other] = [fake(), fake()]
  for (const socket of [again, other]) deadlines.add(socket)
  clock.advance(5000)
  deadlines.add(again)
  clock.advance(5000)
  assert.deepEqual([again.destroyed, other.destroyed], [false, true])
  clock.advance(5000)
  assert.equal(again.destroyed, true)
})

test('no connection ends because this process hung: its bytes may wait to be read', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(10_000, clock)
  const socket = fake()
  deadlines.add(socket)
  clock.stall(30_000)
  clock.advance(7_000)
  assert.equal(socket.destroyed, false)
  clock.advance(2_000)
  assert.equal(socket.destroyed, true)
})

test('at the limit, the oldest connection is closed for a new one', () => {
  const deadlines = new Deadlines(10_000, manualClock(), 2)
  const sockets = [fake(), fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, false, false, 2])
  deadlines.add(sockets[1])
  assert.equal(sockets[1].destroyed, false)
  deadlines.end()
})

test('end() closes all of them at once', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(10_000, clock)
  const sockets = [fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  deadlines.end()
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, true, 0])
  assert.equal(clock.timers, 0)
})

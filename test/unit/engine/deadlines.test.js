import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../src/engine/deadlines.js'

/** @returns {any} */
const fake = () => ({ destroyed: false, destroy () { this.destroyed = true } })

test('connections that take too long are ended, the others are not', () => {
  const deadlines = new Deadlines(10_000)
  const [first, kept, second] = [fake(), fake(), fake()]
  const begin = performance.now()
  for (const socket of [first, kept, second]) deadlines.add(socket)
  assert.equal(deadlines.delete(kept), true)
  assert.equal(deadlines.delete(kept), false)
  deadlines.look(begin + 9_999)
  assert.deepEqual([first.destroyed, kept.destroyed, second.destroyed, deadlines.size], [false, false, false, 2])
  deadlines.look(performance.now() + 10_000)
  assert.deepEqual([first.destroyed, kept.destroyed, second.destroyed, deadlines.size], [true, false, true, 0])
})

test('where there are as many as may be, the oldest is ended for one more', () => {
  const deadlines = new Deadlines(10_000, 2)
  const sockets = [fake(), fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, false, false, 2])
  deadlines.add(sockets[1])
  assert.equal(sockets[1].destroyed, false)
  deadlines.end()
})

test('all of them are ended at once when nothing is to be waited for any more', () => {
  const deadlines = new Deadlines(10_000)
  const sockets = [fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  deadlines.end()
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, true, 0])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../src/engine/deadlines.js'

/** @returns {any} */
const fake = () => ({ destroyed: false, destroy () { this.destroyed = true } })

test('connections beyond their deadline are closed, others are not', () => {
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

test('at the limit, the oldest connection is closed for a new one', () => {
  const deadlines = new Deadlines(10_000, 2)
  const sockets = [fake(), fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, false, false, 2])
  deadlines.add(sockets[1])
  assert.equal(sockets[1].destroyed, false)
  deadlines.end()
})

test('end() closes all of them at once', () => {
  const deadlines = new Deadlines(10_000)
  const sockets = [fake(), fake()]
  for (const socket of sockets) deadlines.add(socket)
  deadlines.end()
  assert.deepEqual([...sockets.map(({ destroyed }) => destroyed), deadlines.size], [true, true, 0])
})

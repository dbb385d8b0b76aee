import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerLimit } from '../../../src/redis/answer-limit.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** A connection for commands: the test decides when the server answers. */
function connected () {
  const clock = manualClock()
  /** @type {string[]} */
  const ended = []
  const stream = { bytesRead: 0, destroy: (/** @type {Error} */ { message }) => { ended.push(message) } }
  const redis = { stream, commandQueue: { length: 0 } }
  const limit = new AnswerLimit(/** @type {any} */ (redis), clock)
  return {
    clock, ended, stream, redis,
    send () {
      redis.commandQueue.length++
      limit.sent()
    },
    answer () {
      stream.bytesRead += 5
      redis.commandQueue.length--
      limit.settled()
    }
  }
}

test('a connection whose server owes an answer for 2 s ends', () => {
  const { clock, ended, send } = connected()
  send()
  clock.advance(1999)
  clock.turn()
  assert.deepEqual(ended, [])
  clock.advance(1)
  clock.turn()
  assert.deepEqual(ended, ['Socket timeout: no answer within 2000 ms'])
})

test('it ends 2 s after the last sign of the server, however many commands wait', () => {
  const { clock, ended, send, answer } = connected()
  send()
  send()
  clock.advance(1500)
  answer()
  clock.advance(1999)
  clock.turn()
  assert.deepEqual(ended, [])
  clock.advance(1)
  clock.turn()
  assert.equal(ended.length, 1)
})

test('an answer that came while the process did not run is read first', () => {
  const { clock, ended, send, answer } = connected()
  send()
  // Node runs timers, then reads from sockets, then runs what is due `soon`
  const { soon } = clock
  clock.soon = (run) => {
    answer()
    return soon(run)
  }
  clock.stall(2500)
  clock.advance(0)
  clock.advance(10_000)
  clock.turn()
  assert.deepEqual(ended, [])
})

test('a part of a long answer is a sign of the server', () => {
  const { clock, ended, send, stream } = connected()
  send()
  for (let part = 0; part < 5; part++) {
    clock.advance(1500)
    stream.bytesRead += 1000
    clock.turn()
  }
  assert.deepEqual(ended, [])
  clock.advance(4000)
  clock.turn()
  clock.advance(4000)
  clock.turn()
  assert.ok(ended.length > 0)
})

test('a command that waits for another node ends no connection', () => {
  const { clock, ended, send, redis } = connected()
  send()
  redis.commandQueue.length = 0
  for (let look = 0; look < 5; look++) {
    clock.advance(2000)
    clock.turn()
  }
  assert.deepEqual(ended, [])
})

test('nothing is looked at while no answer is owed', () => {
  const { clock, send, answer } = connected()
  send()
  answer()
  clock.advance(2000)
  clock.turn()
  clock.advance(2000)
  assert.equal(clock.timers, 0)
})

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { HandshakeLimit } from '../../../src/transport/admission/handshake-limit.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @type {any} */
const req = { headers: {} }
const connections = { admits: () => true }
/** @param {number} perSecond @param {import('../../helpers/manual-clock.js').ManualClock} [clock] */
const limitOf = (perSecond, clock = manualClock()) =>
  new HandshakeLimit({
    perSecond,
    connections,
    metrics: createMetrics({ processMetrics: false }),
    clock,
    random: systemRandom
  })

test('of the clients in one turn of the event loop some start at once, and the others in the next turns, in order', () => {
  const clock = manualClock()
  const limit = limitOf(500, clock)
  /** @type {number[]} */
  const begun = []
  for (let i = 0; i < 400; i++)
    limit.enter(/** @type {any} */ (new EventEmitter()), undefined, () => begun.push(i), req)
  const atOnce = begun.length
  assert.ok(atOnce > 0 && atOnce <= 32, `${atOnce} at once`)
  let turns = 1
  for (; begun.length < 400 && turns < 400; turns++) {
    const before = begun.length
    clock.turn()
    assert.ok(begun.length - before <= atOnce, `${begun.length - before} in a turn`)
  }
  assert.deepEqual(begun, Array.from({ length: 400 }, (_, i) => i))
  assert.ok(turns >= 400 / atOnce)
  limit.stop()
})

test('a queued connection that sends another request without waiting for a response is closed', () => {
  const limit = limitOf(10)
  let ended = 0
  const polling = () => /** @type {any} */ (Object.assign(new EventEmitter(), { destroy: () => { ended++ } }))
  const [one, other] = [polling(), polling()]
  let begun = 0
  for (let i = 0; i < 11; i++) limit.enter(one, /** @type {any} */ ({}), () => begun++, req)
  limit.enter(other, /** @type {any} */ ({}), () => begun++, req)
  assert.deepEqual([begun, ended], [10, 0])
  limit.enter(one, /** @type {any} */ ({}), () => begun++, req)
  assert.deepEqual([begun, ended, one.listenerCount('error')], [10, 1, 0])
})

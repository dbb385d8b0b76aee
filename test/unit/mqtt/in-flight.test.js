import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight, PATIENCE } from '../../../src/gateway/mqtt/in-flight.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {number} most */
function inFlight (most) {
  const clock = manualClock()
  const owner = { context: { clock }, ends: 0, tooSlow () { this.ends++ } }
  const records = new InFlight(most, owner)
  let offset = 0
  /** @param {number} [original] */
  const add = (original) => records.add(/** @type {any} */ ({ publication: { guid: 'a' }, meta: { offset: ++offset } }), original)
  return { clock, owner, records, add }
}

test('a client that acknowledges nothing while records wait is too slow, and one that acknowledges one at a time is not', () => {
  const { clock, owner, records, add } = inFlight(4)
  for (let i = 0; i < 4; i++) add()
  clock.advance(2 * PATIENCE)
  assert.equal(owner.ends, 0, 'nothing waits')
  records.drained()
  clock.advance(PATIENCE - 1)
  records.take(1)
  add()
  clock.advance(PATIENCE - 1)
  assert.equal(owner.ends, 0)
  clock.advance(1)
  assert.equal(owner.ends, 1)
})

test('nothing is timed once there is room again, and after the end', async () => {
  for (const end of [false, true]) {
    const { clock, owner, records, add } = inFlight(2)
    add()
    add()
    const drained = records.drained()
    if (end) records.end()
    else for (const id of [1, 2]) records.take(id)
    await drained
    assert.equal(clock.timers, 0)
    clock.advance(2 * PATIENCE)
    assert.equal(owner.ends, 0)
  }
})

test('[MQTT-2.3.1-4] [MQTT5-2.2.1-4] an id of a record that comes again is given to no other one', () => {
  const { records, add } = inFlight(100)
  records.reserve([1, 2, 65_535])
  assert.deepEqual([add(), add(65_535), add(), add(1), add()], [3, 65_535, 4, 1, 5])
  for (let id = 6; id <= 65_534; id++) {
    assert.equal(add(), id)
    records.take(id)
  }
  // around the end: 65535 is in flight, 2 is still to come
  assert.equal(add(), 6)
})

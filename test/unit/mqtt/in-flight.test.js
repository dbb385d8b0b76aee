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
  const record = () => ({ guid: 'a', offset: ++offset, ackId: undefined })
  /** @param {number} [wanted] */
  const add = (wanted = offset + 1) => records.add(record(), wanted)
  /** @param {number} id */
  const addAgain = (id) => records.addAgain(record(), id)
  return { clock, owner, records, add, addAgain }
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

test('[MQTT-2.3.1-4] [MQTT5-2.2.1-4] a record has the id that it wants, or the next one that is not in use or reserved', () => {
  const { records, add, addAgain } = inFlight(100)
  records.reserve([1, 2, 65_535])
  assert.deepEqual([add(7), add(7), add(1), add(8), add(65_534), add(65_534)], [7, 8, 3, 9, 65_534, 4])
  addAgain(65_535)
  assert.equal(add(65_535), 5, 'it is in flight now, and 1 to 4 are in use or reserved')
  records.take(65_535)
  assert.equal(add(65_535), 65_535)
  addAgain(1)
  records.take(1)
  assert.equal(add(1), 1)
})

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
  const record = (id = 0) => ({ id, guid: 'a', offset: ++offset, ackId: undefined })
  /** @param {number} [wanted] */
  const add = (wanted = offset + 1) => records.add(record(wanted))
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

test('records are acknowledged in any order, each once, and the others stay in the order in which they were sent', () => {
  const { records, add } = inFlight(100)
  for (let id = 1; id <= 5; id++) add()
  assert.deepEqual([3, 5, 3, 1].map((id) => records.take(id)?.offset), [3, 5, undefined, 1])
  assert.deepEqual(records.of('a'), [[2, 2], [4, 4]])
  records.add({ id: 7, guid: 'b', offset: 7, ackId: undefined })
  for (const id of [2, 4]) records.take(id)
  assert.deepEqual([records.size, records.of('a'), records.of('b')], [1, [], [[7, 7]]])
  records.take(7)
  add(8)
  assert.deepEqual(records.of('a'), [[6, 8]], 'the first one after the list was empty')
})

test('[MQTT5-3.3.4-9] [MQTT5-2.2.1-4] records of a log that has ended keep their room and their ids until the client ' +
  'acknowledges them', () => {
  const { records, add } = inFlight(3)
  const shared = { id: 1, guid: 'a', offset: 1, ackId: 5 }
  records.add(shared)
  add(2)
  records.forget('a')
  records.forget('a')
  assert.deepEqual([records.of('a'), records.size, shared.guid], [[], 2, 'a'])
  assert.equal(records.add({ id: 1, guid: 'a', offset: 1, ackId: undefined }), 3)
  assert.equal(records.hasRoom, false)
  const taken = records.take(1)
  assert.deepEqual([taken?.guid, taken?.ackId, records.hasRoom, records.of('a')], [null, 5, true, [[1, 3]]])
})

test('a record that has another packet id does not change the one that its other receivers share', () => {
  const [first, second] = [inFlight(2).records, inFlight(2).records]
  const shared = { id: 9, guid: 'a', offset: 1, ackId: undefined }
  assert.equal(first.add({ ...shared, offset: 2 }), 9)
  assert.equal(first.add(shared), 10)
  assert.equal(second.add(shared), 9)
  assert.deepEqual([first.take(10)?.offset, second.take(9)?.offset], [1, 1])
})

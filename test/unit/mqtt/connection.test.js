import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Delivery } from '../../../src/documents/delivery/delivery.js'
import { TurnWrites } from '../../../src/documents/delivery/turn-writes.js'
import { MqttConnection } from '../../../src/gateway/mqtt/mqtt-connection.js'
import { formsOf } from '../../../src/gateway/mqtt/record-forms.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {number} offset @param {object} [more] */
const record = (offset, more) => new Delivery(/** @type {any} */ ({
  operator: 'broadcast', guid: 'a', event: 'message', contentType: 'application/json', value: Buffer.from('1'), except: [], ...more
}), offset)

/** @param {number} receiveMaximum @param {number} [maxPacket] */
function connection (receiveMaximum, maxPacket = 0) {
  /** @type {Buffer[]} */
  const written = []
  const clock = manualClock()
  const conn = { readyState: 'open', writeBuffer: [], writeFrames: (/** @type {Buffer} */ bytes) => written.push(bytes) > 0 }
  const context = {
    maxDocuments: 10, rates: { events: 1, packetBurst: 1 }, budgetOf: () => undefined, clock,
    tally: { json: 0, bytes: 0 }, metrics: { mqtt_records_too_large: { inc () {} } },
    turnWrites: new TurnWrites({ compressFrom: 0 }, clock)
  }
  const own = new MqttConnection(/** @type {any} */ ({ id: 'one', conn }), /** @type {any} */ ({ uid: 'ada' }), 'sensor',
    /** @type {any} */ (context), { version: 5, receiveMaximum, maxPacket, explains: false })
  const flushed = () => {
    own.turnEnds()
    return written.splice(0)
  }
  return { own, flushed, tally: context.tally }
}

/** @param {Delivery} delivery @returns {number} packet id */
const idOf = (delivery) => formsOf(delivery).record?.id ?? 0

test('of acknowledgements, only one of a record in flight changes the session', () => {
  const { own } = connection(2)
  own.subscribe('doc/a', { qos: 1, noLocal: false, guid: 'a' })
  const delivery = record(1)
  own.deliver(delivery)
  assert.deepEqual([own.taken(idOf(delivery) + 1), own.unsaved], [false, false])
  assert.deepEqual([own.taken(idOf(delivery)), own.unsaved], [true, true])
  assert.equal(own.taken(idOf(delivery)), false)
})

test('a position that advances without an acknowledgement changes the session as well', () => {
  /** @type {Record<string, (own: MqttConnection) => void>} */
  const ways = {
    'records except it': (own) => own.passedOver('a', { epoch: 'x', offset: 20 }),
    'records for its user except it': (own) => own.send('gateway:position', { position: { epoch: 'x', offset: 20 } }),
    'a record of its own': (own) => void own.deliver(record(1, { from: 'one' })),
    'a record that is too large': (own) => void own.deliver(record(1))
  }
  for (const [way, happens] of Object.entries(ways)) {
    const { own } = connection(1, 5)
    own.subscribe('doc/a', { qos: 1, noLocal: true, guid: 'a' })
    assert.equal(own.unsaved, false)
    happens(own)
    assert.equal(own.unsaved, true, way)
  }
})

test('a join that fails after a part of its records was sent again forgets none of these', () => {
  const { own } = connection(4)
  const ids = new Map([[2, 20], [4, 40], [5, 50]])
  const subscription = { qos: /** @type {const} */ (1), noLocal: false, guid: 'a', place: { epoch: 'x', offset: 1, sent: 5, ids } }
  own.subscribe('doc/a', subscription)
  for (const offset of [2, 3, 4]) own.deliver(record(offset))
  own.taken(20)
  // the document is not open any more
  assert.deepEqual(own.placeIn(subscription, /** @type {any} */ ({}), /** @type {any} */ ({})),
    { epoch: 'x', offset: 1, sent: 5, ids: new Map([[5, 50], [4, 40]]) })
})

test('a record of an earlier connection that the client takes no longer, since it is too large, holds no position back', () => {
  const { own } = connection(4, 5)
  const place = { epoch: 'x', offset: 1, sent: 3, ids: new Map([[2, 20]]) }
  const subscription = { qos: /** @type {const} */ (1), noLocal: false, guid: 'a', place }
  own.subscribe('doc/a', subscription)
  own.deliver(record(2))
  own.deliver(record(3))
  const feeds = /** @type {any} */ ({ position: () => ({ epoch: 'x', offset: 3 }) })
  own.document = /** @type {any} */ (() => ({ joined: true }))
  assert.deepEqual(own.placeIn(subscription, feeds, /** @type {any} */ ({})), { epoch: 'x', offset: 3, sent: 3, ids: new Map() })
})

test('of a document that is withdrawn, records that are queued free their room, and those that are written do not', () => {
  const { own, flushed } = connection(2)
  own.subscribe('doc/a', { qos: 1, noLocal: false, guid: 'a' })
  const [written, queued] = [record(1), record(2)]
  own.deliver(written)
  flushed()
  own.deliver(queued)
  own.withdraw('a')
  assert.deepEqual([own.room, flushed(), own.taken(idOf(queued))], [1, [], false])
  assert.deepEqual([own.taken(idOf(written)), own.room, own.unsaved], [true, 2, false])
})

test('receivers of a record share its bytes, and without room it is refused and not counted', () => {
  const [one, two] = [connection(1), connection(1)]
  for (const { own } of [one, two]) own.subscribe('doc/a', { qos: 1, noLocal: false, guid: 'a' })
  const delivery = record(1)
  for (const { own } of [one, two]) own.deliver(delivery)
  const [[first], [second]] = [one.flushed(), two.flushed()]
  assert.equal(first, second)
  assert.equal(one.own.deliver(record(2)), false)
  assert.deepEqual([one.flushed(), one.tally.json], [[], 1])
})

test('records of topics without a subscription, and own ones with No Local, are left out', () => {
  const { own, flushed, tally } = connection(1)
  own.deliver(record(1))
  own.subscribe('doc/a', { qos: 0, noLocal: true, guid: 'a' })
  own.deliver(record(2, { guid: 'b' }))
  own.deliver(record(3, { from: 'one' }))
  assert.deepEqual([flushed(), tally.json], [[], 0])
  own.deliver(record(4, { from: 'another' }))
  assert.equal(flushed().length, 1)
})

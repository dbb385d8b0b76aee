import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Receiver } from '../../../bench/client/receiver.js'
import { MESSAGE_BYTES, now, readRecord, valueOf } from '../../../bench/message.js'

const QUIET_MS = 300

/** @param {number} document @param {number} sequence @param {string} [meta] */
const packet = (document, sequence, meta = ',{"guid":"document-1"}') =>
  Buffer.from(`42["message",${valueOf(document, sequence, now())}${meta}]`)

/** @param {number} records of document 1, which the client has open */
function expecting (records) {
  const receiver = new Receiver()
  /** @type {import('../../../bench/client/websocket-client.js').Receiving} */
  const client = { seen: new Map([[1, 0]]) }
  const expected = receiver.expect({ base: 1, documents: 1, records, perSecond: 0 }, [client])
  return {
    receiver,
    client,
    expected,
    get: (/** @type {number[]} */ ...sequences) => {
      for (const sequence of sequences) receiver.onEvent(packet(1, sequence), client)
    }
  }
}

test('the message has 500 bytes, is JSON and keeps its numbers when it is decoded and re-encoded', () => {
  const value = valueOf(42, 7, 123_456_789)
  const again = Buffer.from(`42["message",${JSON.stringify(JSON.parse(String(value)))},{}]`)
  assert.equal(packet(42, 7, '').length, MESSAGE_BYTES)
  assert.deepEqual(readRecord(again), { document: 42, sequence: 7, at: 123_456_789 })
})

test('other events are not records', () => {
  assert.equal(readRecord(Buffer.from('42["gateway:draining",{"reconnectInMs":5}]')), null)
  assert.equal(readRecord(Buffer.from(`42["something",{"text":"${'x'.repeat(600)}"}]`)), null)
})

test('a record is found behind the head of another protocol', () => {
  const head = '{"event":"message","payload":'
  const message = Buffer.from(`${head}${valueOf(42, 7, 123_456_789)},"meta":{}}`)
  assert.deepEqual(readRecord(message, head.length), { document: 42, sequence: 7, at: 123_456_789 })
  assert.equal(readRecord(message.subarray(0, head.length + 400), head.length), null)
})

test('when everything arrives there is no fault, and every latency is recorded', async () => {
  const { receiver, expected, get } = expecting(3)
  assert.equal(expected, 3)
  const received = receiver.receive(QUIET_MS, () => {})
  get(1, 2, 3)
  const { latencies, ...counts } = await received
  assert.deepEqual(counts, { expected: 3, missing: 0, doubled: 0, disordered: 0, bytes: 3 * packet(1, 1).length })
  assert.equal(latencies.length, 3)
  assert.ok(latencies.every((latency) => latency >= 0 && latency < 1000), String(latencies))
})

test('missing, duplicate and late records are distinguished', async () => {
  const { receiver, get } = expecting(6)
  get(1, 3, 2, 3, 6)
  const { missing, doubled, disordered, latencies } = await receiver.receive(QUIET_MS, () => {})
  assert.deepEqual(
    { missing, doubled, disordered, times: latencies.length },
    { missing: 2, doubled: 1, disordered: 1, times: 4 }
  )
})

test('documents that a client has not joined do not count', async () => {
  const { receiver, client } = expecting(1)
  receiver.onEvent(packet(2, 1), client)
  const { missing, doubled } = await receiver.receive(QUIET_MS, () => {})
  assert.deepEqual({ missing, doubled }, { missing: 1, doubled: 0 })
  assert.equal(receiver.expect({ base: 2, documents: 5, records: 10, perSecond: 0 }, [client]), 0)
})

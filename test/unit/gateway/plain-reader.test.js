import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idOf, readPlain } from '../../../src/gateway/plain/plain-reader.js'
import { TooManyValues, encodeMsgpack } from '../../../src/wire/msgpack.js'

test('an event and an acknowledgement are read in both codecs', () => {
  const event = { event: 'doc:join', payload: { guid: 'a' }, id: 7 }
  assert.deepEqual(readPlain(JSON.stringify(event), 'json'), event)
  assert.deepEqual(readPlain(encodeMsgpack(event), 'msgpack'), event)
  assert.deepEqual(readPlain('{"ack":3}', 'json'), { ack: 3 })
  assert.deepEqual(readPlain('{"event":"gateway:ping"}', 'json'), { event: 'gateway:ping', payload: undefined, id: undefined })
})

test('anything else is refused, and its kind named', () => {
  const wrong = [
    'no JSON', '', '[]', 'null', '"text"', '{}', '{"event":1}', '{"event":"a","id":-1}', '{"event":"a","id":1.5}',
    '{"event":"a","id":"1"}', '{"ack":"1"}', '{"ack":-1}'
  ]
  for (const text of wrong) assert.throws(() => readPlain(text, 'json'), { kind: 'json' }, text)
  assert.throws(() => readPlain(Buffer.from('{}'), 'json'), { kind: 'json' })
  assert.throws(() => readPlain('{}', 'msgpack'), { kind: 'msgpack' })
  // a map that announces 4,294,967,295 fields, and half a text
  for (const bytes of [[0xdf, 0xff, 0xff, 0xff, 0xff], [0xd9, 10, 65]])
    assert.throws(() => readPlain(Buffer.from(bytes), 'msgpack'), { kind: 'msgpack' })
})

test('deep and broad messages are refused before they are decoded, small ones before the login as well', () => {
  const deep = `{"event":"a","payload":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  assert.throws(() => readPlain(deep, 'json'), { kind: 'depth' })
  const broad = `{"event":"a","payload":[${'0,'.repeat(2 ** 20)}0]}`
  assert.throws(() => readPlain(broad, 'json'), TooManyValues)
  const early = `{"event":"gateway:connect","payload":[${'0,'.repeat(4000)}0]}`
  assert.throws(() => readPlain(early, 'json', 3000), TooManyValues)
  assert.ok(readPlain(early, 'json'))
  const many = encodeMsgpack({ event: 'a', payload: Array(60_000).fill(0) })
  assert.throws(() => readPlain(many, 'msgpack'), TooManyValues)
})

test('the id of a message that is not decoded is found where it is the first or the last field', () => {
  assert.equal(idOf(`{"id":12,"event":"a","payload":"${'x'.repeat(2000)}"}`), 12)
  assert.equal(idOf(`{"event":"a","payload":"${'x'.repeat(2000)}", "id": 13 }`), 13)
  assert.equal(idOf(`{"event":"a","id":14,"payload":"${'x'.repeat(2000)}"}`), undefined)
  assert.equal(idOf(encodeMsgpack({ id: 15, event: 'a' })), undefined)
})

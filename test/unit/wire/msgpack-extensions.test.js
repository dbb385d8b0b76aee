import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { decode, encode, ExtData } from '@msgpack/msgpack'
import { decodeMsgpack } from '../../../src/wire/msgpack.js'
import { withoutArrayBuffers, withStandardDates } from '../../../src/wire/msgpack-extensions.js'

/**
 * Encoder and decoder of Socket.IO's msgpack clients.
 * @type {{ encode: (value: unknown) => Buffer, decode: (bytes: Uint8Array) => unknown }}
 */
const notepack = createRequire(createRequire(import.meta.url).resolve('socket.io-msgpack-parser'))('notepack.io')

const DATES = [0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, 8.64e15, -8.64e15, 2 ** 32 * 1000, 2 ** 34 * 1000].map(
  (ms) => new Date(ms)
)

test('Dates of stock clients stay Dates for them, are timestamps for services and text in JSON', () => {
  const value = { at: DATES, in: [{ date: DATES[3], missing: undefined }], text: 'x' }
  const sent = withoutArrayBuffers(notepack.encode(value))
  assert.deepEqual(notepack.decode(sent), value)
  assert.deepEqual(decode(withStandardDates(sent)), { ...value, in: [{ date: DATES[3], missing: null }] })
  assert.deepEqual(JSON.parse(JSON.stringify(decodeMsgpack(sent))), JSON.parse(JSON.stringify(value)))
  assert.deepEqual(
    JSON.parse(JSON.stringify(/** @type {any} */ (decodeMsgpack(withStandardDates(sent))).at)),
    JSON.parse(JSON.stringify(DATES))
  )
})

test('a Date that JavaScript cannot represent becomes null', () => {
  const bytes = Buffer.from('d7007fffffffffffffff', 'hex')
  assert.equal(decode(withStandardDates(bytes)), null)
  assert.equal(JSON.stringify(decodeMsgpack(bytes)), 'null')
})

test('ArrayBuffers become binary, of any length, beside other extensions and similar bytes', () => {
  for (const length of [0, 1, 8, 255, 256, 65_535, 65_536]) {
    const { buffer } = new Uint8Array(length).fill(0xc7)
    const value = { a: [buffer, 'Ç\u0000', DATES[3]], b: { buffer } }
    const bytes = Buffer.from(new Uint8Array(buffer))
    assert.deepEqual(
      notepack.decode(withoutArrayBuffers(notepack.encode(value))),
      { a: [bytes, 'Ç\u0000', DATES[3]], b: { buffer: bytes } },
      String(length)
    )
  }
})

test('extensions of other types, and timestamps, stay unchanged', () => {
  for (const length of [0, 1, 2, 4, 8, 16, 17, 300, 70_000]) {
    for (const type of [5, 127, -2]) {
      const bytes = Buffer.from(encode([new ExtData(type, new Uint8Array(length)), new Date(1500)]))
      assert.deepEqual(withoutArrayBuffers(bytes), bytes)
      assert.ok(withStandardDates(bytes) === bytes)
    }
  }
})

test('a value without extensions is copied, and not read twice', () => {
  const bytes = Buffer.from(encode({ a: ['d7', -41, Buffer.from([0xd7, 0, 0xc7, 1, 0]), 0.5, 2 ** 40] }))
  const copy = withoutArrayBuffers(bytes)
  assert.deepEqual(copy, bytes)
  assert.ok(copy.buffer !== bytes.buffer || copy.byteOffset !== bytes.byteOffset)
  assert.ok(withStandardDates(bytes) === bytes)
})

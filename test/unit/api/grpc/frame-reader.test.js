import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameReader } from '../../../../src/services/api/grpc/frame-reader.js'
import { framed } from '../../../helpers/grpc-api.js'

const MAX = 5000
const LENGTHS = [0, 1, 4, 5, 6, 1023, 1024, 1025, 4096, MAX]

test('messages arrive whole, however the bytes are cut', () => {
  const messages = LENGTHS.map((length) => Buffer.alloc(length, `${length}`))
  const wire = Buffer.concat(messages.map((message) => framed(message)))
  for (let size = 1; size < 200; size++) {
    const reader = new FrameReader(MAX)
    const read = []
    for (let at = 0; at < wire.length; at += size) {
      read.push(...reader.read(wire.subarray(at, at + size)))
      assert.ok(reader.held <= MAX)
    }
    assert.deepEqual(read.map(({ bytes }) => bytes), messages, `pieces of ${size} bytes`)
    assert.deepEqual([reader.begun, reader.held], [false, 0])
  }
})

test('memory follows the bytes that came, not the length that is claimed', () => {
  for (const came of [0, 1, 100, 1000, 2000, 4999]) {
    const reader = new FrameReader(2 ** 22)
    assert.deepEqual(reader.read(framed(Buffer.alloc(came), 2 ** 22)), [])
    assert.equal(reader.begun, true)
    assert.ok(reader.held <= Math.max(1024, 2 * came), `${reader.held} bytes for ${came}`)
  }
})

test('pieces of one byte cost no more than the message', () => {
  const reader = new FrameReader(MAX)
  const wire = framed(Buffer.alloc(MAX, 1))
  for (let at = 0; at < wire.length - 1; at++) {
    reader.read(wire.subarray(at, at + 1))
    assert.ok(reader.held <= Math.max(1024, 2 * at))
  }
  assert.equal(reader.read(wire.subarray(-1))[0].bytes.length, MAX)
})

test('a message that is too large is refused by its head', () => {
  for (const claimed of [MAX + 1, 2 ** 31, 2 ** 32 - 1]) {
    assert.throws(() => new FrameReader(MAX).read(framed(Buffer.alloc(0), claimed)), {
      code: 'value_too_large', message: `the message has ${claimed} bytes, ${MAX} are allowed`
    })
  }
})

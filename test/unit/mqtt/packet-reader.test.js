import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketReader } from '../../../src/transport/mqtt/packet-reader.js'

/** @param {number} type @param {number} length */
const packet = (type, length) => {
  const head = [type]
  for (let left = length; ;) {
    head.push(left > 127 ? (left % 128) | 128 : left)
    if (left < 128) break
    left = Math.floor(left / 128)
  }
  return Buffer.concat([Buffer.from(head), Buffer.alloc(length, type)])
}

test('packets come out whole, wherever the chunks end', () => {
  const packets = [0, 5, 127, 128, 300, 20_000].map((length) => packet(0x32, length))
  const all = Buffer.concat(packets)
  for (const size of [1, 2, 3, 7, 130, 19_999, all.length]) {
    const reader = new PacketReader()
    /** @type {Buffer[]} */
    const out = []
    for (let at = 0; at < all.length; at += size) {
      // the chunk is overwritten after the call
      const chunk = Buffer.from(all.subarray(at, at + size))
      reader.read(chunk, 30_000, (bytes, from, to) => { out.push(Buffer.from(bytes.subarray(from, to))) })
      chunk.fill(0)
    }
    assert.deepEqual(out, packets, `chunks of ${size}`)
    assert.equal(reader.held, 0)
  }
})

test('a packet above the limit, and a length of five bytes, are refused by their head alone', () => {
  const read = (/** @type {number[]} */ bytes) => new PacketReader().read(Buffer.from(bytes), 1000, () => assert.fail())
  assert.throws(() => read([0x30, 0xff, 0xff, 0xff, 0x7f]), { reason: 0x95 })
  assert.throws(() => read([0x30, 0xe7, 0x07]), { reason: 0x95 })
  assert.throws(() => read([0x30, 0x80, 0x80, 0x80, 0x80]), { reason: 0x81 })
  const reader = new PacketReader()
  for (const byte of [0x30, 0x80, 0x80, 0x80]) reader.read(Buffer.from([byte]), 1000, () => assert.fail())
  assert.throws(() => reader.read(Buffer.from([0x80]), 1000, () => assert.fail()), { reason: 0x81 })
})

test('an unfinished packet takes at most twice what has come of it', () => {
  const reader = new PacketReader()
  const bytes = packet(0x30, 1_000_000)
  for (let at = 0; at < 50_000; at += 100) {
    reader.read(bytes.subarray(at, at + 100), 2_000_000, () => assert.fail())
    assert.ok(reader.held <= Math.max(128, 2 * (at + 100)), `${reader.held} bytes for ${at + 100}`)
  }
})

test('packets that are whole in a chunk are parts of it, without an object for each', () => {
  const chunk = Buffer.concat([packet(0x40, 2), packet(0x40, 2), packet(0x32, 200)])
  /** @type {[Buffer, number, number][]} */
  const parts = []
  new PacketReader().read(chunk, 1000, (...part) => { parts.push(part) })
  assert.deepEqual(parts.map(([, from, to]) => [from, to]), [[0, 4], [4, 8], [8, chunk.length]])
  assert.ok(parts.every(([bytes]) => bytes === chunk))
})

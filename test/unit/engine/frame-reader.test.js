import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'
import { CloseCode, FrameError, FrameReader } from '../../../src/transport/engine/frame-reader.js'
import { seededRandom } from '../../helpers/random.js'

const { Receiver } = createRequire(import.meta.url)('ws')
const MAX_PAYLOAD = 70_000
/** Valid and invalid close codes. */
const CLOSES = [[], [3, 232], [3, 232, 0xe2, 0x82, 0xac], [3], [3, 237], [3, 232, 0xff]].map((bytes) =>
  Buffer.from(bytes)
)

/** @typedef {{ fin?: boolean, rsv?: number, opcode: number, masked?: boolean, payload: Buffer }} Frame */

/** Encodes a client's frame. @param {Frame} frame @param {Buffer} mask @returns {Buffer} */
function encode ({ fin = true, rsv = 0, opcode, masked = true, payload }, mask) {
  const length = Buffer.alloc(payload.length < 126 ? 1 : payload.length < 65536 ? 3 : 9)
  if (length.length === 1) length[0] = payload.length
  else if (length.length === 3) length.writeUInt16BE(payload.length, length.writeUInt8(126))
  else length.writeBigUInt64BE(BigInt(payload.length), length.writeUInt8(127))
  if (masked) length[0] |= 0x80
  return Buffer.concat([
    Buffer.from([(fin ? 0x80 : 0) | (rsv << 4) | opcode]),
    length,
    ...(masked ? [mask, payload.map((byte, i) => byte ^ mask[i & 3])] : [payload])
  ])
}

/** Calls of the sink for chunks, and the error. @param {Buffer[]} chunks @param {boolean} [deflates] */
function ours (chunks, deflates) {
  /** @type {unknown[]} */
  const seen = []
  const reader = new FrameReader()
  const sink = {
    deflates,
    onMessage: (/** @type {string | Buffer} */ message) => {
      seen.push(typeof message === 'string' ? message : Buffer.from(message))
    },
    onPing: (/** @type {Buffer} */ payload) => {
      seen.push({ ping: payload.toString('hex') })
    },
    onCloseFrame: (/** @type {Buffer} */ payload) => {
      throw Object.assign(new Error('closed'), { payload })
    }
  }
  try {
    for (const chunk of chunks) reader.read(Buffer.from(chunk), MAX_PAYLOAD, sink)
  } catch (error) {
    const { payload, message } = /** @type {any} */ (error)
    if (payload !== undefined) seen.push({ closed: payload.length === 0 ? CloseCode.NO_CODE : payload.readUInt16BE(0) })
    else if (error instanceof FrameError) seen.push({ error: error.closeCode })
    else assert.fail(message)
  }
  return seen
}

/** The same with ws. @param {Buffer[]} chunks */
function libraries (chunks) {
  /** @type {unknown[]} */
  const seen = []
  let over = false
  const receiver = new Receiver({ isServer: true, maxPayload: MAX_PAYLOAD, allowSynchronousEvents: true })
  receiver.on('message', (/** @type {Buffer} */ data, /** @type {boolean} */ isBinary) => {
    seen.push(isBinary ? Buffer.from(data) : data.toString())
  })
  receiver.on('ping', (/** @type {Buffer} */ payload) => { seen.push({ ping: payload.toString('hex') }) })
  receiver.on('conclude', (/** @type {number} */ code) => {
    over = true
    seen.push({ closed: code })
  })
  receiver.on('error', (/** @type {any} */ error) => {
    over = true
    const symbol =
      Object.getOwnPropertySymbols(error).find(({ description }) => description === 'status-code') ??
      assert.fail('no code')
    seen.push({ error: error[symbol] })
  })
  for (const chunk of chunks) {
    if (over) break
    receiver.write(Buffer.from(chunk))
  }
  return seen
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d])
const text = (/** @type {string} */ payload, more = {}) =>
  encode({ opcode: 1, payload: Buffer.from(payload), ...more }, MASK)

describe('frames of a client', () => {
  test('are read as ws reads them, with any content and in any chunks', async () => {
    const random = {
      below: (
        (next) => (/** @type {number} */ limit) =>
          Math.floor(next() * limit)
      )(seededRandom(20261121))
    }
    const pick = (/** @type {readonly any[]} */ list) => list[random.below(list.length)]
    const kinds = { messages: 0, errors: 0, closed: 0 }
    for (let round = 0; round < 200; round++) {
      /** @type {Buffer[]} */
      const frames = []
      let open = false
      for (let i = random.below(6) + 1; i > 0; i--) {
        const length = pick(
          random.below(8) > 0 ? [0, 1, 2, 5, 124, 125, 126, 127, 300] : [65_535, 65_536, 69_999, 70_001]
        )
        const isText = random.below(2) === 0
        const payload = isText
          ? Buffer.from('aß€🎉'.repeat(length)).subarray(0, length)
          : Buffer.alloc(length, random.below(256))
        // mostly valid values
        const odd = random.below(12) === 0
        const control = random.below(5) === 0
        const fin = random.below(3) > 0
        const opcode = odd ? random.below(16) : control ? pick([8, 9, 10]) : open ? 0 : isText ? 1 : 2
        frames.push(encode({
          fin: odd ? fin : control || fin,
          rsv: odd ? pick([0, 0, 1, 4]) : 0,
          masked: !odd || random.below(3) > 0,
          opcode,
          payload: control && !odd ? pick(CLOSES) : payload
        }, Buffer.from([random.below(256), random.below(256), random.below(256), random.below(256)])))
        if (!control && !odd) open = !fin
      }
      const bytes = Buffer.concat(frames)
      /** @type {Buffer[]} */
      const chunks = []
      const sizes = bytes.length < 5000 ? [1, 2, 3, 7, 13, 100] : [1, 13, 5000, 20_000, 200_000]
      for (let at = 0; at < bytes.length;) {
        const end = Math.min(bytes.length, at + pick(sizes))
        chunks.push(bytes.subarray(at, end))
        at = end
      }
      const expected = libraries(chunks)
      await settled()
      const seen = ours(chunks)
      const last = /** @type {any} */ (seen.at(-1))
      // ws checks a text when it is complete, and may find another error before
      const early = last?.error === CloseCode.INVALID_TEXT ? expected.splice(seen.length - 1, Infinity, last) : []
      assert.ok(early.every((later) => typeof later !== 'string' && !Buffer.isBuffer(later)), `round ${round}`)
      assert.deepEqual(
        seen,
        expected,
        `round ${round}: ${frames.map((frame) => frame.subarray(0, 12).toString('hex'))}`
      )
      if (last?.error) kinds.errors++
      else if (last?.closed) kinds.closed++
      kinds.messages += seen.length
    }
    // the random cases cover all kinds
    assert.ok(kinds.messages > 200 && kinds.errors > 25 && kinds.closed > 8, JSON.stringify(kinds))
  })

  test('that announce more than the limit are refused before their content arrives', () => {
    for (const length of [MAX_PAYLOAD + 1, 2 ** 32 + 1, 2 ** 53]) {
      const header = Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8), MASK])
      header.writeBigUInt64BE(BigInt(length), 2)
      assert.deepEqual(ours([header]), [{ error: CloseCode.TOO_BIG }])
    }
  })

  test('may split a message into a thousand fragments, but not into more than 1,024', () => {
    const pieces = (/** @type {number} */ count) =>
      Array.from({ length: count }, (_, i) =>
        encode({ opcode: i === 0 ? 1 : 0, fin: i === count - 1, payload: Buffer.from('é') }, MASK)
      )
    assert.deepEqual(ours(pieces(1000)), ['é'.repeat(1000)])
    assert.deepEqual(ours(pieces(1025)), [{ error: CloseCode.TOO_BIG }])
  })

  test('take memory for the received bytes, not for the announced length', () => {
    const claims = Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8), MASK, Buffer.from('ab')])
    claims.writeBigUInt64BE(BigInt(2 ** 20), 2)
    const sink = { onMessage () {}, onPing () {}, onCloseFrame () {} }
    const readers = Array.from({ length: 200 }, () => new FrameReader())
    const before = process.memoryUsage().arrayBuffers
    for (const reader of readers) reader.read(Buffer.from(claims), 2 ** 20, sink)
    const taken = process.memoryUsage().arrayBuffers - before
    assert.ok(taken < 2 ** 20, `${taken} bytes for 200 frames with 16 received bytes each`)
    // for a frame, and for a message in fragments
    const whole = encode({ opcode: 2, payload: Buffer.alloc(200_000, 7) }, MASK)
    for (const bytes of [
      whole,
      Buffer.concat(
        Array.from({ length: 200 }, (_, i) =>
          encode({ opcode: i === 0 ? 2 : 0, fin: i === 199, payload: Buffer.alloc(1000, 7) }, MASK)
        )
      )
    ]) {
      const reader = new FrameReader()
      /** @type {Buffer[]} */
      const messages = []
      for (let at = 0; at < bytes.length; at += 777) {
        reader.read(Buffer.from(bytes.subarray(at, at + 777)), 2 ** 20, {
          ...sink,
          onMessage: (message) => messages.push(Buffer.from(message))
        })
        assert.ok(reader.held <= 2 * (at + 777) + 1024 + 2 * 777, `${reader.held} bytes are held for ${at + 777}`)
        if (at > 100_000 && at < 190_000) assert.ok(reader.held > at - 10_000, `${reader.held} of ${at}`)
      }
      assert.equal(reader.held, 0)
      assert.deepEqual(messages, [Buffer.alloc(200_000, 7)])
    }
  })

  test('are counted if they are not a message: pings, pongs and fragments', () => {
    const sink = { onMessage () {}, onPing () {}, onCloseFrame () {} }
    const control = [
      encode({ opcode: 9, payload: Buffer.alloc(0) }, MASK),
      encode({ opcode: 10, payload: Buffer.alloc(0) }, MASK)
    ]
    const [first, middle, last] = [
      text('a', { fin: false }),
      encode({ opcode: 0, fin: false, payload: Buffer.alloc(0) }, MASK),
      encode({ opcode: 0, payload: Buffer.from('b') }, MASK)
    ]
    const bytes = Buffer.concat([text('whole'), ...control, first, middle, ...control, middle, last, text('whole')])
    assert.equal(new FrameReader().read(Buffer.from(bytes), MAX_PAYLOAD, sink), 7)
    const reader = new FrameReader()
    assert.equal([...bytes].reduce((sum, byte) => sum + reader.read(Buffer.from([byte]), MAX_PAYLOAD, sink), 0), 7)
  })

  test('may arrive byte by byte, several in one chunk, and after a fragmented message', () => {
    const bytes = Buffer.concat([
      text('one'),
      text('tw', { fin: false }),
      encode({ opcode: 9, payload: Buffer.from('?') }, MASK),
      encode({ opcode: 0, payload: Buffer.from('o') }, MASK),
      text('three')
    ])
    const expected = ['one', { ping: '3f' }, 'two', 'three']
    assert.deepEqual(ours([bytes]), expected)
    assert.deepEqual(ours([...bytes].map((byte) => Buffer.from([byte]))), expected)
  })
})

describe('compressed messages', () => {
  const TEXT = 'Grüße, 世界. '.repeat(50)
  /** @param {string | Buffer} message @returns {Buffer} */
  const deflated = (message) =>
    deflateRawSync(Buffer.from(message), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
  const compressed = (/** @type {string | Buffer} */ message, opcode = 1) =>
    encode({ opcode, rsv: 4, payload: deflated(message) }, MASK)
  const whole = deflated(TEXT)
  const fragments = [
    encode({ opcode: 1, rsv: 4, fin: false, payload: whole.subarray(0, 10) }, MASK),
    encode({ opcode: 0, fin: false, payload: Buffer.alloc(0) }, MASK),
    encode({ opcode: 9, payload: Buffer.from('?') }, MASK),
    encode({ opcode: 0, payload: whole.subarray(10) }, MASK)
  ]

  test('are not inflated for a sink that drops its messages, whole or in fragments', () => {
    const damaged = Buffer.alloc(10, 255)
    const reader = new FrameReader()
    const frames = [
      encode({ opcode: 1, rsv: 4, payload: damaged }, MASK),
      encode({ opcode: 1, rsv: 4, fin: false, payload: damaged }, MASK),
      encode({ opcode: 0, payload: damaged }, MASK)
    ]
    const fail = () => assert.fail()
    const sink = { deflates: true, ignores: true, onMessage: fail, onPing: fail, onCloseFrame: fail }
    assert.equal(reader.read(Buffer.concat(frames), MAX_PAYLOAD, sink), 1, 'the fragment counts')
    assert.throws(() => reader.read(encode({ opcode: 1, rsv: 4, payload: damaged }, MASK), MAX_PAYLOAD,
      { ...sink, ignores: false }), FrameError)
  })

  for (const [what, frames, expected] of /** @type {[string, Buffer[], unknown[]][]} */ ([
    ['are inflated, beside others', [compressed(TEXT), text('plain'), compressed(TEXT)], [TEXT, 'plain', TEXT]],
    ['may be binary', [compressed(Buffer.alloc(999, 255), 2)], [Buffer.alloc(999, 255)]],
    ['may be empty', [compressed(''), encode({ opcode: 1, rsv: 4, payload: Buffer.alloc(0) }, MASK)], ['', '']],
    ['may come in fragments', fragments, [{ ping: '3f' }, TEXT]],
    ['have the limit of a message', [compressed('x'.repeat(MAX_PAYLOAD))], ['x'.repeat(MAX_PAYLOAD)]],
    ['that are larger are refused', [compressed('x'.repeat(MAX_PAYLOAD + 1))], [{ error: CloseCode.TOO_BIG }]],
    ['that are not UTF-8 are refused', [compressed(Buffer.from([255]))], [{ error: CloseCode.INVALID_TEXT }]],
    ['that are damaged are refused', [encode({ opcode: 1, rsv: 4, payload: Buffer.alloc(9, 255) }, MASK)],
      [{ error: CloseCode.INVALID_TEXT }]],
    ['are marked in their first frame only', [fragments[0], encode({ opcode: 0, rsv: 4, payload: whole.subarray(10) }, MASK)],
      [{ error: CloseCode.PROTOCOL_ERROR }]],
    ['are never control frames', [encode({ opcode: 9, rsv: 4, payload: deflated('') }, MASK)],
      [{ error: CloseCode.PROTOCOL_ERROR }]]
  ])) {
    test(what, () => {
      const bytes = Buffer.concat(frames)
      assert.deepEqual(ours([bytes], true), expected)
      if (bytes.length < 2000) assert.deepEqual(ours([...bytes].map((byte) => Buffer.from([byte])), true), expected)
    })
  }

  test('are refused if they were not negotiated', () => {
    assert.deepEqual(ours([compressed(TEXT)]), [{ error: CloseCode.PROTOCOL_ERROR }])
  })

  test('are not inflated any more when the session has ended', () => {
    let messages = 0
    const sink = {
      deflates: true,
      readyState: 'open',
      onMessage () { if (++messages === 3) this.readyState = 'closed' },
      onPing () {},
      onCloseFrame () {}
    }
    new FrameReader().read(Buffer.concat(Array(50).fill(compressed(TEXT))), MAX_PAYLOAD, sink)
    assert.equal(messages, 3)
  })
})

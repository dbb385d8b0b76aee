import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'
import { systemClock } from '../../../../src/base/common/clock.js'
import { DECOMPRESS } from '../../../../src/kafka/codecs/codecs.js'
import { decompressZstdInJs } from '../../../../src/kafka/codecs/zstd-js.js'
import { createZstdThreads } from '../../../../src/kafka/codecs/zstd-threads.js'

const TEXT =
  '{"text":"Grüße, 世界 🌍"}'.repeat(40) +
  'x'.repeat(300) +
  Array.from({ length: 40 }, (_, i) => `line ${(i * 7919) % 101}`).join(',')

// the same text by other implementations: lz4_flex with both checksums, snappy in Rust, libzstd
const LZ4 =
  'BCJNGHRAvd0AAAD/EHsidGV4dCI6Ikdyw7zDn2UsIOS4lueVjCDwn4yNIn0fAP////+qH3gBAP8ZcWxpbmUgMCwHACI0MQgAIjgyCAATMggAIjYzEAADBwAi' +
  'NDQPACI4NQgAEzIIACI2NhAAAwcA' +
  'IjQ3DwAiODgIABMyCAAiNjkQAAMHABM1fQATOX0AEzMIABM3fQATMQgAEzV+ABM5fgATMwgAEzd+ABMxCAATNX8AEzl/ABMzCAATN38AEzEIABM1gAAjMTCB' +
  'ABM0CAATOIEAEzIIABM2gQADBwCgNDMsbGluZSA4NMuvdFgAAAAAIMwwiQ=='
const SNAPPY =
  'vw54eyJ0ZXh0IjoiR3LDvMOfZSwg5LiW55WMIPCfjI0iff4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAP4fAOIf' +
  'AAB4/gEA/gEA/gEA/gEAqgEAGGxpbmUgMCwFBwQ0' +
  'MQkIBDgyCQgAMg0IBDYzCRANBwQ0NAkPBDg1CQgAMg0IBDY2CRANBwQ0NwkPBDg4CQgAMg0IBDY5CRANBwA1DX0AOQ19ADMNCAA3DX0AMQ0IADUNfgA5DX4A' +
  'Mw0IADcNfgAxDQgANQ1/ADkNfwAzDQgANw1/ADENCAA1DYAEMTANgQA0DQgAOA2BADINCAA2DYENByQ0MyxsaW5lIDg0'
const ZSTD =
  'KLUv/WA/Bk0FALQFeyJ0ZXh0IjoiR3LDvMOfZSwg5LiW55WMIPCfjI0ifXhsaW5lIDAsNDE4MjI2MzQ0ODUyNjY0Nzg4MjY5NTkzMTcxMjU5MzQ3MTU1OTM3' +
  'NzE4NTEwMDExMjIzNCkgYINKCg9Z5BtMlvlAZgEhbTALAzM7mrMI5DtwZkdDloB8B87saMgCUD7JgQM3s9GMPiwyLrM+mhot24Ey62jDNMVrURgq2xbxtzw='

const GZIP = zlib.gzipSync(TEXT)
const snappy = Buffer.from(SNAPPY, 'base64')
const lz4 = Buffer.from(LZ4, 'base64')
const zstd = Buffer.from(ZSTD, 'base64')

/** @param {Buffer[]} blocks framed as by snappy-java */
const xerial = (...blocks) => Buffer.concat([
  Buffer.from('82534e41505059000000000100000001', 'hex'),
  ...blocks.flatMap((block) => [int32(block.length), block])
])

/** @param {number} value */
function int32 (value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const inThreads = createZstdThreads({ clock: systemClock })

/** @type {[string, (source: Buffer, limit?: number) => Promise<Buffer>, Buffer][]} */
const SAMPLES = [
  ['gzip', DECOMPRESS.gzip, GZIP],
  ['snappy', DECOMPRESS.snappy, snappy],
  ['snappy as Java frames it', DECOMPRESS.snappy, xerial(snappy)],
  ['lz4', DECOMPRESS.lz4, lz4],
  ['zstd', DECOMPRESS.zstd, zstd],
  ['zstd in JavaScript', async (source, limit = 2 ** 26) => Buffer.from(decompressZstdInJs(source, limit)), zstd],
  ['zstd in a thread', (source, limit = 2 ** 26) => inThreads(source, limit), zstd]
]

for (const [name, decompress, sample] of SAMPLES) {
  describe(name, () => {
    test('restores compressed bytes', async () => {
      assert.equal((await decompress(sample)).toString(), TEXT)
    })

    test('ends with an error when it is truncated', async () => {
      for (let length = 0; length < sample.length; length += 7) {
        const result = await decompress(sample.subarray(0, length)).catch((error) => error)
        assert.ok(
          result instanceof Error || result.length < Buffer.byteLength(TEXT),
          `${length} bytes of ${sample.length}`
        )
      }
    })

    test('ends with an error or with other bytes when it is corrupt, and never hangs', async () => {
      for (let at = 0; at < sample.length; at++) {
        const corrupt = Buffer.from(sample)
        corrupt[at] ^= 0xff
        await decompress(corrupt).catch((error) => assert.ok(error instanceof Error))
      }
    })

    test('refuses more than the limit', async () => {
      const size = Buffer.byteLength(TEXT)
      assert.equal((await decompress(sample, size)).length, size)
      await assert.rejects(decompress(sample, size - 1), /more than \d+ bytes|too large/)
    })
  })
}

test('several snappy blocks and several lz4 frames are one value', async () => {
  assert.equal((await DECOMPRESS.snappy(xerial(snappy, snappy))).toString(), TEXT + TEXT)
  assert.equal((await DECOMPRESS.lz4(Buffer.concat([lz4, lz4]))).toString(), TEXT + TEXT)
})

test('lz4 reads uncompressed blocks and blocks that look back, and skips other frames', async () => {
  const frame = (/** @type {number} */ flags, /** @type {string[]} */ ...blocks) =>
    Buffer.from(`04224d18${flags.toString(16)}4000${blocks.join('')}00000000`, 'hex')
  const stored = '03000080' + '616263' // "abc"
  assert.equal((await DECOMPRESS.lz4(frame(0x60, stored, stored))).toString(), 'abcabc')
  // no literal, then 4 bytes from 3 back, then the literal "!" that must end a block
  const lookingBack = '05000000' + '000300' + '1021'
  assert.equal((await DECOMPRESS.lz4(frame(0x40, stored, lookingBack))).toString(), 'abcabca!')
  await assert.rejects(
    DECOMPRESS.lz4(frame(0x60, stored, lookingBack)),
    /corrupt/,
    'an independent block must not look back'
  )
  const skipped = Buffer.from('502a4d18' + '02000000' + 'ffff', 'hex')
  assert.equal((await DECOMPRESS.lz4(Buffer.concat([skipped, frame(0x60, stored)]))).toString(), 'abc')
  await assert.rejects(DECOMPRESS.lz4(frame(0x61, stored)), /dictionary/)
})

describe('a bomb', () => {
  const LIMIT = 10 * 2 ** 20
  const small = async (/** @type {Promise<Uint8Array>} */ decompressed) => {
    const before = process.memoryUsage().rss
    await assert.rejects(decompressed, /more than 10485760 bytes|too large/)
    assert.ok(process.memoryUsage().rss - before < 200 * 2 ** 20)
  }

  test('in gzip is refused', () => small(DECOMPRESS.gzip(zlib.gzipSync(Buffer.alloc(LIMIT * 4)), LIMIT)))
  test('in snappy is refused by its declared length', () =>
    small(DECOMPRESS.snappy(Buffer.from('ffffffff0f' + 'fe0100'.repeat(10), 'hex'), LIMIT)))
  test('in lz4 is refused', () => {
    // one literal, then a match with an endless length
    const block = Buffer.concat([
      Buffer.from('1f61', 'hex'),
      Buffer.from('0100', 'hex'),
      Buffer.alloc(300_000, 0xff),
      Buffer.from('00', 'hex'),
      Buffer.from('1021', 'hex')
    ])
    const size = Buffer.alloc(4)
    size.writeUInt32LE(block.length)
    return small(
      DECOMPRESS.lz4(Buffer.concat([Buffer.from('04224d18604000', 'hex'), size, block, Buffer.alloc(4)]), LIMIT)
    )
  })
  test('in zstd is refused, in its blocks and in its window', async () => {
    // a frame without a size: window 1 MB, 1,000 blocks of 128 KB that repeat one byte, the last one marked
    const block = (/** @type {boolean} */ last) =>
      Buffer.from([
        ((131072 << 3) | 2 | Number(last)) & 0xff,
        ((131072 << 3) >> 8) & 0xff,
        ((131072 << 3) >> 16) & 0xff,
        0x61
      ])
    const bomb = Buffer.concat([
      Buffer.from('28b52ffd0050', 'hex'),
      ...Array.from({ length: 999 }, () => block(false)),
      block(true)
    ])
    await small(DECOMPRESS.zstd(bomb, LIMIT))
    await small((async () => decompressZstdInJs(bomb, LIMIT))())
    const window = Buffer.from('28b52ffd00a8' + '010000', 'hex') // 2 GB, and an empty last block
    await small((async () => decompressZstdInJs(window, LIMIT))())
    const second = Buffer.concat([zstd, window])
    await small((async () => decompressZstdInJs(second, LIMIT))())
  })
})

describe('zstd in JavaScript has a work limit', () => {
  test('thousands of empty frames are refused before the first window is allocated', (t) => {
    const frame = (/** @type {string} */ window) => Buffer.from(`28b52ffd00${window}010000`, 'hex')
    const decoding = t.mock.method(Decompress.prototype, 'push')
    assert.throws(
      () => decompressZstdInJs(Buffer.concat(Array(5000).fill(frame('80'))), 2 ** 26),
      /too large/,
      '64 MB each: 34 s'
    )
    assert.throws(
      () => decompressZstdInJs(Buffer.concat(Array(100_000).fill(frame('00'))), 2 ** 28),
      /more than 1000 frames/,
      '1 KB each'
    )
    assert.equal(decoding.mock.callCount(), 0)
    assert.equal(
      Buffer.from(decompressZstdInJs(Buffer.concat(Array(100).fill(zstd)), 2 ** 26)).toString(),
      TEXT.repeat(100)
    )
    assert.ok(decoding.mock.callCount() > 0)
  })

  /** One block of 32,038 sequences that repeat 65,539 bytes each: seconds to minutes. */
  const slow = Buffer.from('28b52ffd00807d0000' + '00fd2654000034' + '0102030405060780', 'hex')

  test('a few bytes that would take minutes end at the time limit, and do not delay later batches', async () => {
    const decompress = createZstdThreads({ timeout: 1000, clock: systemClock })
    // starts both threads: the time of a job begins when its thread is ready
    await Promise.all([decompress(zstd, 2 ** 26), decompress(zstd, 2 ** 26)])
    /** @type {string[]} */
    const ended = []
    await Promise.all([
      assert.rejects(decompress(slow, 2 ** 26), /longer than 1000 ms/).then(() => ended.push('slow')),
      decompress(zstd, 2 ** 26).then((plain) => ended.push(plain.toString()))
    ])
    assert.deepEqual(ended, [TEXT, 'slow'])
    assert.equal((await decompress(zstd, 2 ** 26)).toString(), TEXT)
  })

  test('a batch is not given up while its result waits in a process that was slow itself', async () => {
    const decompress = createZstdThreads({ timeout: 500, threads: 1, clock: systemClock })
    await decompress(zstd, 2 ** 26)
    // after this, timers are due before messages are read
    await turn()
    const plain = decompress(zstd, 2 ** 26)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
    assert.equal((await plain).toString(), TEXT)
  })

  test('when all threads are busy with such bytes, others wait no longer than the time limit', async () => {
    const decompress = createZstdThreads({ timeout: 1000, threads: 1, clock: systemClock })
    const refused = assert.rejects(decompress(slow, 2 ** 26), /longer than 1000 ms/)
    assert.equal((await decompress(zstd, 2 ** 26)).toString(), TEXT)
    await refused
  })
})

import { Decompress } from 'fzstd'

/**
 * Zstandard in JavaScript, for Node before 22.15. A few bytes can keep it busy for minutes (a block may claim tens of
 * thousands of long sequences), so it runs in a thread with a time limit: zstd-worker.js.
 */

/** Maximum number of frames; producers write one per batch. Each costs fzstd a window. */
const MAX_FRAMES = 1000

/**
 * @param {Uint8Array} source
 * @param {number} limit bytes; more output is an error
 * @returns {Uint8Array}
 * @throws {Error} when it is corrupt, or larger than the limit, or has too many frames
 */
export function decompressZstdInJs (source, limit) {
  checkFrames(Buffer.from(source.buffer, source.byteOffset, source.byteLength), limit)
  /** @type {Uint8Array[]} */
  const blocks = []
  let length = 0
  const stream = new Decompress((block) => {
    length += block.length
    if (length > limit) throw tooLarge()
    blocks.push(block.slice()) // the library reuses its memory
  })
  stream.push(source, true)
  const all = new Uint8Array(length)
  let at = 0
  for (const block of blocks) {
    all.set(block, at)
    at += block.length
  }
  return all
}

const tooLarge = () => Object.assign(new Error('too large'), { code: 'ERR_BUFFER_TOO_LARGE' })

const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
const RLE = 1

/**
 * fzstd allocates the memory that each frame declares, up to 2 GB, before it reads on. This checks the declared windows
 * of all frames together.
 *
 * @param {Buffer} source
 * @param {number} limit
 */
function checkFrames (source, limit) {
  let at = 0
  let frames = 0
  let needed = 0
  while (at + 5 < source.length) {
    const magic = source.readUInt32LE(at)
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      at += 8 + (at + 8 <= source.length ? source.readUInt32LE(at + 4) : 0)
      continue
    }
    if (magic !== MAGIC) return // the decoder will refuse it
    const descriptor = source[at + 4]
    const sizeFlag = descriptor >>> 6
    const single = (descriptor & 0x20) !== 0
    const dictionary = [0, 1, 2, 4][descriptor & 3]
    const sizeBytes = sizeFlag === 0 ? Number(single) : 1 << sizeFlag
    at += 5
    const window = single ? 0 : windowSize(source[at])
    at += single ? dictionary : 1 + dictionary
    if (at + sizeBytes > source.length) return
    const content =
      sizeBytes === 8 ? Number(source.readBigUInt64LE(at)) : sizeBytes === 0 ? 0 : source.readUIntLE(at, sizeBytes)
    needed += Math.max(window, content)
    if (needed > limit) throw tooLarge()
    if (++frames > MAX_FRAMES) throw new Error(`more than ${MAX_FRAMES} frames`)
    at = afterBlocks(source, at + sizeBytes) + (descriptor & 4)
  }
}

/** @param {number} byte */
function windowSize (byte) {
  const base = 2 ** (10 + (byte >>> 3))
  return base + base / 8 * (byte & 7)
}

/** @param {Buffer} source @param {number} at @returns {number} where the frame's blocks end */
function afterBlocks (source, at) {
  while (at + 3 <= source.length) {
    const header = source.readUIntLE(at, 3)
    at += 3 + ((header >>> 1 & 3) === RLE ? 1 : header >>> 3)
    if (header & 1) break
  }
  return at
}

import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'

/**
 * Decompresses Zstandard: with Node's own library where it has one (22.15 and later), else with fzstd, which is
 * JavaScript. https://github.com/facebook/zstd/blob/dev/doc/zstd_compression_format.md (RFC 8878)
 */

const native = zlib.zstdDecompress && promisify(zlib.zstdDecompress)

/**
 * @param {Buffer} source
 * @param {number} limit bytes; more output is an error
 * @returns {Promise<Buffer>}
 * @throws {Error} when it is corrupt, or larger than the limit
 */
export async function decompressZstd (source, limit) {
  try {
    return native ? await native(source, { maxOutputLength: limit }) : decompressZstdInJs(source, limit)
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new Error(code === 'ERR_BUFFER_TOO_LARGE' ? `zstd: it decompresses to more than ${limit} bytes` : `zstd: ${message}`, { cause: error })
  }
}

/**
 * @param {Buffer} source
 * @param {number} limit
 * @returns {Buffer}
 */
export function decompressZstdInJs (source, limit) {
  checkWindows(source, limit)
  /** @type {Uint8Array[]} */
  const blocks = []
  let length = 0
  const stream = new Decompress((block) => {
    length += block.length
    if (length > limit) throw tooLarge()
    blocks.push(block.slice()) // the library uses its memory again
  })
  stream.push(source, true)
  return Buffer.concat(blocks, length)
}

const tooLarge = () => Object.assign(new Error('too large'), { code: 'ERR_BUFFER_TOO_LARGE' })

const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
const RLE = 1

/**
 * fzstd takes as much memory as a frame says that it needs, up to 2 GB, before it reads on: walks over the frames
 * and looks at what they say.
 *
 * @param {Buffer} source
 * @param {number} limit
 */
function checkWindows (source, limit) {
  let at = 0
  while (at + 5 < source.length) {
    const magic = source.readUInt32LE(at)
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      at += 8 + (at + 8 <= source.length ? source.readUInt32LE(at + 4) : 0)
      continue
    }
    if (magic !== MAGIC) return // it will be refused
    const descriptor = source[at + 4]
    const sizeFlag = descriptor >>> 6
    const single = (descriptor & 0x20) !== 0
    const dictionary = [0, 1, 2, 4][descriptor & 3]
    const sizeBytes = sizeFlag === 0 ? Number(single) : 1 << sizeFlag
    at += 5
    const window = single ? 0 : windowSize(source[at])
    at += single ? dictionary : 1 + dictionary
    if (at + sizeBytes > source.length) return
    const content = sizeBytes === 8 ? Number(source.readBigUInt64LE(at)) : sizeBytes === 0 ? 0 : source.readUIntLE(at, sizeBytes)
    if (Math.max(window, content) > limit) throw tooLarge()
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

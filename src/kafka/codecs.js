import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'
import kafkajs from 'kafkajs'
import { decompressLz4 } from './lz4.js'
import { decompressSnappy } from './snappy.js'

const { CompressionCodecs, CompressionTypes } = kafkajs

/** What one batch may decompress to, bytes. A broker takes batches of 1 MB, of which a bomb makes a gigabyte. */
export const MAX_DECOMPRESSED_BYTES = 64 * 2 ** 20

const unzip = promisify(zlib.unzip)

/** Node's own, from 22.15 on; undefined before. */
const zstdDecompress = zlib.zstdDecompress && promisify(zlib.zstdDecompress)

/**
 * The compressions a Kafka producer may use, for reading.
 * @type {Record<'gzip' | 'snappy' | 'lz4' | 'zstd', (source: Buffer, limit?: number) => Promise<Buffer>>}
 */
export const DECOMPRESS = {
  gzip: (source, limit = MAX_DECOMPRESSED_BYTES) => named('gzip', limit, unzip(source, { maxOutputLength: limit })),
  snappy: async (source, limit = MAX_DECOMPRESSED_BYTES) => decompressSnappy(source, limit),
  lz4: async (source, limit = MAX_DECOMPRESSED_BYTES) => decompressLz4(source, limit),
  zstd: (source, limit = MAX_DECOMPRESSED_BYTES) => named('zstd', limit, zstdDecompress ? zstdDecompress(source, { maxOutputLength: limit }) : decompressZstd(source, limit))
}

/**
 * Tells kafkajs of them; without this a batch in snappy, lz4 or zstd crashes its consumer, and one in gzip has no limit.
 * docs/decisions/0010-kafka-codecs.md
 */
export function registerCodecs () {
  CompressionCodecs[CompressionTypes.GZIP] = codec(DECOMPRESS.gzip)
  CompressionCodecs[CompressionTypes.Snappy] = codec(DECOMPRESS.snappy)
  CompressionCodecs[CompressionTypes.LZ4] = codec(DECOMPRESS.lz4)
  CompressionCodecs[CompressionTypes.ZSTD] = codec(DECOMPRESS.zstd)
}

/** @param {(source: Buffer) => Promise<Buffer>} decompress */
function codec (decompress) {
  return () => ({
    decompress: (/** @type {Buffer} */ source) => decompress(source),
    compress: async () => { throw new Error('inkcast writes to Kafka without compression') }
  })
}

/**
 * @param {string} name
 * @param {number} limit
 * @param {Promise<Buffer>} decompressed
 */
async function named (name, limit, decompressed) {
  try {
    return await decompressed
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new Error(code === 'ERR_BUFFER_TOO_LARGE' ? `${name}: it decompresses to more than ${limit} bytes` : `${name}: ${message}`, { cause: error })
  }
}

/**
 * Block by block, so that the limit is noticed before memory is taken.
 * @param {Buffer} source
 * @param {number} limit
 */
export async function decompressZstd (source, limit) {
  /** @type {Uint8Array[]} */
  const blocks = []
  let length = 0
  const stream = new Decompress((block) => {
    length += block.length
    if (length > limit) throw Object.assign(new Error('too large'), { code: 'ERR_BUFFER_TOO_LARGE' })
    blocks.push(block.slice())
  })
  stream.push(source, true)
  return Buffer.concat(blocks, length)
}

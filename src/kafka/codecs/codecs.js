import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { decompressLz4 } from './lz4.js'
import { decompressSnappy } from './snappy.js'
import { decompressZstd } from './zstd.js'

/** Maximum decompressed size of a batch, bytes. A broker takes batches of 1 MB, which can expand to a gigabyte. */
const MAX_DECOMPRESSED_BYTES = 64 * 2 ** 20

const unzip = promisify(zlib.unzip)

/**
 * Decoders for the compressions that a Kafka producer may use. They belong to no driver, because every client needs
 * them: none limits the output.
 * @type {Record<'gzip' | 'snappy' | 'lz4' | 'zstd', (source: Buffer, limit?: number) => Promise<Buffer>>}
 */
export const DECOMPRESS = {
  gzip: (source, limit = MAX_DECOMPRESSED_BYTES) => decompressGzip(source, limit),
  snappy: async (source, limit = MAX_DECOMPRESSED_BYTES) => decompressSnappy(source, limit),
  lz4: async (source, limit = MAX_DECOMPRESSED_BYTES) => decompressLz4(source, limit),
  zstd: (source, limit = MAX_DECOMPRESSED_BYTES) => decompressZstd(source, limit)
}

/**
 * @param {Buffer} source
 * @param {number} limit
 */
async function decompressGzip (source, limit) {
  try {
    return await unzip(source, { maxOutputLength: limit })
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new Error(
      code === 'ERR_BUFFER_TOO_LARGE' ? `gzip: it decompresses to more than ${limit} bytes` : `gzip: ${message}`,
      { cause: error }
    )
  }
}

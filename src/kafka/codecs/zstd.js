import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { systemClock } from '../../base/common/clock.js'
import { createZstdThreads } from './zstd-threads.js'

/**
 * Decompresses Zstandard: with Node's own library where it has one (22.15 and later), else with fzstd in threads.
 * https://github.com/facebook/zstd/blob/dev/doc/zstd_compression_format.md (RFC 8878)
 */

const native = zlib.zstdDecompress && promisify(zlib.zstdDecompress)
const inThread = createZstdThreads({ clock: systemClock })

/**
 * @param {Buffer} source
 * @param {number} limit bytes; more output is an error
 * @returns {Promise<Buffer>}
 * @throws {Error} when it is corrupt, larger than the limit, or takes too long
 */
export async function decompressZstd (source, limit) {
  try {
    return await (native ? native(source, { maxOutputLength: limit }) : inThread(source, limit))
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new Error(
      code === 'ERR_BUFFER_TOO_LARGE' ? `zstd: it decompresses to more than ${limit} bytes` : `zstd: ${message}`,
      { cause: error }
    )
  }
}

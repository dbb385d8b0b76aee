import { createRequire } from 'node:module'
import { DECOMPRESS } from '../codecs/codecs.js'

const require = createRequire(import.meta.url)
const { CompressionCodecs, CompressionTypes } = require('kafkajs')

/**
 * Registers the decoders with kafkajs. Without them a batch in snappy, lz4 or zstd crashes the consumer, and one in
 * gzip has no limit. docs/internals/decisions/0012-kafkajs.md
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

import { createRequire } from 'node:module'
import { mayHook } from '../../common/hook-switch.js'
import { ResponseBudget, isRecordBatch, readRecordBatches } from './record-batch.js'

const require = createRequire(import.meta.url)

const DECODER = 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js'
/** The modules that use it; kafkajs loads the one for the broker's version with the first fetch. */
const USERS = [4, 5, 6, 7, 8, 9, 10, 11].map((version) => `kafkajs/src/protocol/requests/fetch/v${version}/response.js`)

/**
 * @typedef {object} Decoder kafkajs/src/protocol/decoder.js
 * @property {Buffer} buffer
 * @property {number} offset
 */
/** @typedef {(decoder: Decoder) => Promise<import('./record-batch.js').DecodedMessage[]>} DecodeMessages */

/** @type {boolean | undefined} */
let patched

/**
 * Lets kafkajs read the records of a fetch with record-batch.js. To be called before the first consumer is made.
 *
 * @param {{ log: import('../../common/log.js').Log }} dependencies
 * @returns {boolean} whether it is in place; if not, kafkajs works unpatched: a batch that it cannot read stops the
 *   consumer until it is skipped by hand
 */
export function patchFetch ({ log }) {
  if (patched !== undefined) return patched
  if (!mayHook('kafkajs')) return false
  if (USERS.some((path) => require.cache[require.resolve(path)] !== undefined)) {
    log.warn('kafkajs has fetched already, so it uses its own reader of record batches')
    return patched = false
  }
  const path = require.resolve(DECODER)
  /** @type {DecodeMessages} */
  const stock = require(path)
  const loaded = require.cache[path]
  if (loaded === undefined || typeof stock !== 'function') return patched = false
  loaded.exports = decoderWith(stock)
  return patched = true
}

/**
 * Exported for tests: the patch without kafkajs.
 * @param {DecodeMessages} stock reads the formats before Kafka 0.11
 * @returns {DecodeMessages}
 */
export function decoderWith (stock) {
  /** By response: kafkajs has one buffer for it and calls this for each of its partitions. */
  const budgets = /** @type {WeakMap<Buffer, ResponseBudget>} */ (new WeakMap())
  return async (decoder) => {
    const { buffer, offset } = decoder
    const size = buffer.readInt32BE(offset)
    const records =
      size > 0 && offset + 4 + size <= buffer.length ? buffer.subarray(offset + 4, offset + 4 + size) : undefined
    if (records === undefined || !isRecordBatch(records)) return stock(decoder)
    decoder.offset = offset + 4 + size
    let budget = budgets.get(buffer)
    if (budget === undefined) budgets.set(buffer, budget = new ResponseBudget())
    return readRecordBatches(records, budget)
  }
}

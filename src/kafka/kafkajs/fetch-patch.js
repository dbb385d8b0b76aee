import { createRequire } from 'node:module'
import { systemClock } from '../../base/common/clock.js'
import { ResponseBudget, isRecordBatch, readRecordBatches } from './record-batch.js'

const require = createRequire(import.meta.url)

const DECODER = 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js'
/**
 * @typedef {object} Decoder kafkajs/src/protocol/decoder.js
 * @property {Buffer} buffer
 * @property {number} offset
 */
/** @typedef {(decoder: Decoder) => Promise<import('./record-batch.js').DecodedMessage[]>} DecodeMessages */

let patched = false

/**
 * Lets kafkajs read the records of a fetch with record-batch.js: a batch that its own reader cannot read would stop the
 * consumer until it is skipped by hand. To be called before the first fetch.
 */
export function patchFetch () {
  if (patched) return
  /** @type {DecodeMessages} */
  const stock = require(DECODER)
  const loaded = /** @type {NodeJS.Module} */ (require.cache[require.resolve(DECODER)])
  loaded.exports = decoderWith(stock)
  patched = true
}

/**
 * Exported for tests: the patch without kafkajs.
 * @param {DecodeMessages} stock reads the formats before Kafka 0.11
 * @param {import('../../base/common/clock.js').Clock} [clock]
 * @returns {DecodeMessages}
 */
export function decoderWith (stock, clock = systemClock) {
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
    if (budget === undefined) budgets.set(buffer, budget = new ResponseBudget(clock))
    return readRecordBatches(records, budget)
  }
}

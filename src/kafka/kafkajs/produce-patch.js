import { createRequire } from 'node:module'
import { encodeRecord } from './record-encoder.js'

const require = createRequire(import.meta.url)
const RECORD = 'kafkajs/src/protocol/recordBatch/record/v0'
const ENCODER = 'kafkajs/src/protocol/encoder'

let patched = false

/** Lets kafkajs encode records with record-encoder.js. To be called before the first record is sent. */
export function patchProduce () {
  if (patched) return
  const stock = require(RECORD)
  const loaded = /** @type {NodeJS.Module} */ (require.cache[require.resolve(RECORD)])
  loaded.exports = recordWith(stock)
  patched = true
}

/**
 * Exported for tests: compared with kafkajs.
 * @param {(record: any) => any} stock kafkajs's own
 * @returns {(record: import('./record-encoder.js').KafkajsRecord) => any} an encoder of kafkajs with the record in it
 */
export function recordWith (stock) {
  const Encoder = require(ENCODER)
  return (record) => {
    const buf = encodeRecord(record)
    if (buf === undefined) return stock(record)
    return Object.assign(Object.create(Encoder.prototype), { buf, offset: buf.length })
  }
}

import { createRequire } from 'node:module'
import { mayHook } from '../../common/hook-switch.js'
import { encodeRecord } from './record-encoder.js'

const require = createRequire(import.meta.url)
const RECORD = 'kafkajs/src/protocol/recordBatch/record/v0'
const ENCODER = 'kafkajs/src/protocol/encoder'
/** The module that uses it, loaded with the first request. */
const USER = 'kafkajs/src/protocol/requests/produce/v3/request'
/** With keys, values and lengths of each kind. */
const SAMPLES = [
  { offsetDelta: 0, timestampDelta: 0, key: 'document', value: Buffer.from('{}'), headers: { name: 'joined' } },
  { offsetDelta: 300, timestampDelta: 70_000, key: null, value: 'ü'.repeat(90), headers: { bytes: Buffer.alloc(80), '': '' } }
]

/** @type {boolean | undefined} */
let patched

/**
 * Lets kafkajs encode records with record-encoder.js. To be called before the first record is sent.
 *
 * @param {{ log: import('../../common/log.js').Log }} dependencies
 * @returns {boolean} whether it is in place; if not, kafkajs encodes records itself
 */
export function patchProduce ({ log }) {
  if (patched !== undefined) return patched
  if (!mayHook('kafkajs') || require.cache[require.resolve(USER)] !== undefined) return false
  const stock = require(RECORD)
  const loaded = require.cache[require.resolve(RECORD)]
  const encode = recordWith(stock)
  if (loaded === undefined || !SAMPLES.every((sample) => stock(sample).buffer.equals(encode(sample).buffer))) {
    log.warn('kafkajs encodes records in another way than expected, so it uses its own encoder')
    return patched = false
  }
  loaded.exports = encode
  return patched = true
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

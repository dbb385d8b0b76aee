import { InkcastError } from '../../../base/common/errors.js'
import { hashSlot } from '../../../redis/hash-slot.js'
import { PARTS } from './contract.js'

/**
 * A record's part follows from its document; without a document from its user or connection.
 * @param {import('./contract.js').UplinkRecord} record
 * @returns {number}
 */
export const partOf = ({ guid, uid, sid }) => hashSlot(guid ?? uid ?? sid ?? '') % PARTS

/**
 * @param {number} part
 * @param {number} sequence
 * @param {import('./contract.js').UplinkRecord} record
 * @returns {import('./contract.js').StreamEntry}
 */
export const entryOf = (part, sequence, record) =>
  ({ id: `${part}-${sequence}`, source: `/inkcast/uplink/${part}`, sequence, record })

/** @param {import('./contract.js').UplinkRecord} record @returns {string} all of it but the value */
export const encodeHead = (record) => JSON.stringify({ ...record, value: undefined, asSent: undefined })

/**
 * @param {string} head
 * @param {Buffer} value
 * @returns {import('./contract.js').UplinkRecord}
 */
export const decodeRecord = (head, value) => ({ ...JSON.parse(head), value })

export const full = () =>
  new InkcastError('unavailable', 'too many messages wait for the business service; try again later')
export const failing = () =>
  new InkcastError('unavailable', 'the business service has not accepted messages for some time; try again later')

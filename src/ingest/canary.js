import { HEADER } from '../wire/headers.js'

/**
 * A canary is a record of the downlink topic for ingest alone: it shows that records pass through a partition. It
 * reaches no client, no log and no dead-letter topic.
 */

/** The operator of canaries; publications cannot have it. */
const CANARY = 'canary'

/**
 * @typedef {object} Canary
 * @property {string} echo id of the echo of the process that sent it
 * @property {number} partition
 * @property {number} sentAt ms, by the monotonic clock of that process, which alone reads it
 */

/**
 * @param {Canary} canary
 * @returns {import('../kafka/producer.js').ProducerRecord}
 */
export const canaryRecord = (canary) => ({
  key: null,
  value: null,
  partition: canary.partition,
  headers: { [HEADER.operator]: CANARY, [HEADER.canary]: canaryText(canary) }
})

/** @param {Canary} canary */
export const canaryText = ({ echo, partition, sentAt }) => `${echo} ${partition} ${sentAt}`

/** @param {string} text @returns {Canary | undefined} undefined: it is not a canary's text */
export function readCanary (text) {
  const found = /^([\w-]{1,40}) (\d{1,9}) (\d{1,15})$/.exec(text)
  return found === null ? undefined : { echo: found[1], partition: Number(found[2]), sentAt: Number(found[3]) }
}

/**
 * @param {import('../kafka/contract.js').KafkaRecord} message
 * @returns {string | undefined} the canary's text, '' if it has none; undefined: it is no canary
 */
export function canaryOf ({ headers = {} }) {
  if (String(headers[HEADER.operator]) !== CANARY) return undefined
  return String(headers[HEADER.canary] ?? '')
}

/**
 * The summary of a record's receipt: the parts of all workers, added up.
 *
 * @typedef {object} Part of one worker, when it has finished
 * @property {number} delivered clients that it wrote the record to
 * @property {number} unasked clients among them that were not asked
 * @property {Record<number, number>} latencies number of acknowledgements by `latencyCode`
 * @property {[uid: string, sid: string][]} missing clients that did not acknowledge, MAX_MISSING at most
 */

/**
 * `delivered` = `acknowledged` + length of `missing` + `more` + `unasked`.
 * @typedef {object} Summary
 * @property {number} delivered
 * @property {number} acknowledged
 * @property {number | null} p50 ms from the write of the record to its acknowledgement, ± 3 %; null: no client
 *   acknowledged
 * @property {number | null} p99 likewise
 * @property {{ uid: string, sid: string }[]} missing clients that did not acknowledge, MAX_MISSING at most
 * @property {number} more number of further ones, including members of a worker that died
 * @property {number} unasked clients that were not asked because too many receipts were pending
 */

/**
 * The record of a receipt: its headers.
 * @typedef {Pick<import('../../log/publish/uplink.js').UplinkRecord,
 *   'guid' | 'uid' | 'sid' | 'event' | 'traceId' | 'traceparent'>} Subject
 */

/** Clients that are named in a summary. */
export const MAX_MISSING = 100

/** Steps per e-fold: latencies up to 10 minutes fit a byte, each step 5 % more. */
const STEPS = 19

/** @param {number} ms @returns {number} 1 to 255, so that a byte holds it and 0 means none */
export const latencyCode = (ms) => Math.min(255, 1 + Math.round(STEPS * Math.log1p(Math.max(0, ms))))

/** @param {number} code @returns {number} ms */
const latencyOf = (code) => Math.round(Math.expm1((code - 1) / STEPS))

/**
 * @param {(Part | number)[]} parts a number: the clients of a worker that never reported
 * @returns {Summary}
 */
function summarise (parts) {
  const summary = { delivered: 0, acknowledged: 0, unasked: 0 }
  /** @type {{ uid: string, sid: string }[]} */
  const missing = []
  const counts = new Array(256).fill(0)
  for (const part of parts) {
    if (typeof part === 'number') {
      summary.delivered += part
      continue
    }
    summary.delivered += part.delivered
    summary.unasked += part.unasked
    for (const [code, count] of Object.entries(part.latencies)) {
      counts[Number(code)] += count
      summary.acknowledged += count
    }
    for (const [uid, sid] of part.missing) if (missing.length < MAX_MISSING) missing.push({ uid, sid })
  }
  const { delivered, acknowledged, unasked } = summary
  return {
    delivered,
    acknowledged,
    p50: quantile(counts, acknowledged, 0.5),
    p99: quantile(counts, acknowledged, 0.99),
    missing,
    more: delivered - acknowledged - unasked - missing.length,
    unasked
  }
}

/**
 * @param {Subject} about
 * @param {(Part | number)[]} parts
 * @param {number} timestamp ms since 1970
 * @returns {import('../../log/publish/uplink.js').UplinkRecord}
 */
export const receiptRecord = (about, parts, timestamp) => ({
  operator: 'receipt',
  ...about,
  timestamp,
  contentType: 'application/json',
  value: Buffer.from(JSON.stringify(summarise(parts)))
})

/** @param {number[]} counts by code @param {number} total @param {number} q */
function quantile (counts, total, q) {
  let left = Math.ceil(q * total)
  return total === 0 ? null : latencyOf(counts.findIndex((count) => (left -= count) <= 0))
}

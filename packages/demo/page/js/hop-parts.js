/**
 * The hops of one record as parts of its way.
 *
 * @typedef {object} Hop an event of the inspector
 * @property {string} hop
 * @property {number} at ms since 1970
 * @property {string} process
 * @property {number} [ms]
 * @property {string} [traceId]
 * @property {{ sid: string }[]} [clients]
 *
 * @typedef {{ name: string, kind: string, ms: number }} Part
 */

/**
 * @param {readonly Hop[]} hops of one record, from all processes
 * @param {string} own name of the worker of this page; '': unknown
 * @param {number} at when it arrived here, ms since 1970
 * @param {number} [sentAt] by its publisher
 * @returns {Part[] | null} null: some are missing
 */
export function partsOf (hops, own, at, sentAt) {
  const first = (/** @type {string} */ name) => hops.find(({ hop, process }) => hop === name && process === own) ??
    hops.find(({ hop }) => hop === name)
  const [produced, ingested, logged, received, written] =
    ['produced', 'ingested', 'logged', 'received', 'written'].map(first)
  if (!produced || !ingested || !logged || !received || !written) return null
  const kafka = logged.process.startsWith('ingest')
  // `written` has the time of the slowest of its clients
  const gateway = Math.min(written.ms ?? 0, Math.max(0, at - received.at))
  return [
    ...(sentAt === undefined ? [] : [{ name: 'publisher → api', kind: 'publish', ms: produced.at - sentAt }]),
    { name: kafka ? `Kafka → ${logged.process}` : logged.process, kind: 'ingest', ms: ingested.at - produced.at },
    { name: 'log in Redis', kind: 'log', ms: logged.ms ?? 0 },
    { name: `→ ${received.process}`, kind: 'bus', ms: received.at - logged.at },
    { name: 'to the socket', kind: 'gateway', ms: gateway },
    { name: '→ this page', kind: 'browser', ms: at - received.at - gateway }
  ].map((part) => ({ ...part, ms: Math.max(0, part.ms) }))
}

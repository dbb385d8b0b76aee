/**
 * Sizes of the phases. The limits (limits.js) apply to the default.
 */

/**
 * @typedef {object} Scale
 * @property {number} rounds per system
 * @property {number} workers
 * @property {number} connections
 * @property {number} documents over which connections are distributed
 * @property {number} preheatRecords without receivers, before the measurement
 * @property {number} preheatRate per second
 * @property {number} idleMs observation time without deliveries
 * @property {number} bursts
 * @property {number} burstRecords of each document in a burst
 * @property {number} singles bursts of one record of each document
 * @property {number} steadyRate deliveries per second
 * @property {number} steadySeconds
 * @property {number[]} members per document, one after the other
 * @property {number} memberConnections distributed over documents with that many members
 * @property {number} memberBursts of one record of each document
 * @property {number[]} documentCounts numbers of documents, one after the other
 * @property {number} documentConnections
 * @property {number} documentMembers of each document
 * @property {number} documentRate records per second
 * @property {number} documentSeconds
 * @property {number} memoryConnections on one worker
 * @property {number} memoryIdleMs wait before each memory measurement, without connections and with them
 */

/** @type {Scale} */
export const DEFAULT_SCALE = {
  rounds: 2,
  workers: 2,
  connections: 9000,
  documents: 90,
  preheatRecords: 10_000,
  preheatRate: 1000,
  idleMs: 10_000,
  bursts: 5,
  burstRecords: 10,
  singles: 20,
  steadyRate: 10_000,
  steadySeconds: 20,
  members: [1, 10, 100, 1000, 10_000],
  memberConnections: 10_000,
  memberBursts: 10,
  documentCounts: [10, 100, 1000, 10_000],
  documentConnections: 2000,
  documentMembers: 10,
  documentRate: 500,
  documentSeconds: 8,
  memoryConnections: 15_000,
  memoryIdleMs: 30_000
}

/** About a minute, as a smoke test. @type {Scale} */
export const QUICK_SCALE = {
  ...DEFAULT_SCALE,
  rounds: 1,
  connections: 1800,
  documents: 18,
  preheatRecords: 2000,
  idleMs: 1000,
  bursts: 2,
  singles: 5,
  steadyRate: 5000,
  steadySeconds: 2,
  members: [1, 10, 100, 1000],
  memberConnections: 2000,
  memberBursts: 3,
  documentCounts: [10, 100, 1000],
  documentConnections: 1000,
  documentSeconds: 1,
  memoryConnections: 3000,
  memoryIdleMs: 1000
}

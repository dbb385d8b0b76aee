/**
 * How much of everything. The default is what the limits (limits.js) are for.
 */

/**
 * @typedef {object} Scale
 * @property {number} rounds per system
 * @property {number} workers
 * @property {number} connections
 * @property {number} documents among which they are dealt out
 * @property {number} preheatRecords for nobody, before anything is measured
 * @property {number} preheatRate per second
 * @property {number} idleMs how long the system is watched without deliveries
 * @property {number} bursts
 * @property {number} burstRecords of each document in a burst
 * @property {number} singles bursts of one record of each document
 * @property {number} steadyRate deliveries per second
 * @property {number} steadySeconds
 * @property {number[]} members of a document, in turn
 * @property {number} memberConnections dealt out among documents with so many members
 * @property {number} memberBursts of one record of each document
 * @property {number[]} documentCounts in turn
 * @property {number} documentConnections
 * @property {number} documentMembers of each document
 * @property {number} documentRate records per second
 * @property {number} documentSeconds
 * @property {number} memoryConnections on one worker
 * @property {number} memoryIdleMs before memory is looked at, without connections and with them
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

/** About a minute, to see that everything works. @type {Scale} */
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

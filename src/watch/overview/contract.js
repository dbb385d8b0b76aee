/**
 * The reports of the processes of all machines: the source of the cluster's overview. Each process writes its own every
 * few seconds.
 *
 * @typedef {object} ProcessReport
 * @property {string} name role and number on its machine, `gateway-0`
 * @property {string} host name of its machine
 * @property {string} version of inkcast
 * @property {number} startedAt ms since 1970
 * @property {string[]} notReady reasons; empty: it is ready
 * @property {number} [worker] number of a gateway worker
 * @property {number} connections 0 for processes without any
 * @property {number} documents that its connections have open
 * @property {number} lag records that wait in the Kafka partitions it reads
 *
 * @typedef {object} OverviewStore rejects with a retryable InkcastError if the backend is unavailable
 * @property {(id: string, report: ProcessReport) => Promise<void>} write for `LIFE`, or until it is written again
 * @property {(id: string) => Promise<void>} remove
 * @property {() => Promise<ProcessReport[]>} read those of all processes, in any order
 */

/** Between two reports of a process, ms. */
export const EVERY = 5000
/** A report without a successor ends after this time, ms. */
export const LIFE = 3 * EVERY

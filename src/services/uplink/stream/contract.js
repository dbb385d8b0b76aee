/**
 * The uplink without Kafka: a bounded log of records that services read in groups, each record once per group.
 *
 * The stream has several parts, and a record's part follows from its document: records of one part keep their order,
 * and groups read the parts independently of each other. A part is read by one process at a time, which has its lease.
 *
 * @typedef {import('../../../log/publish/uplink.js').UplinkRecord} UplinkRecord
 *
 * @typedef {object} StreamEntry
 * @property {string} id unique in the stream
 * @property {string} source of the sequence: the part
 * @property {number} sequence grows within its source, also when the stream was lost
 * @property {UplinkRecord} record
 *
 * @typedef {object} Batch
 * @property {StreamEntry[]} entries in their order; [] if there is nothing to read
 * @property {string} upTo for `done`
 *
 * @typedef {object} Reader
 * @property {string} group one of the stream's
 * @property {string} holder names the process
 *
 * @typedef {object} StreamState
 * @property {number} records that not all groups have read
 * @property {number} bytes of these
 *
 * @typedef {object} UplinkStream
 * @property {readonly string[]} groups a record is kept until all of them have read it
 * @property {number} parts
 * @property {(record: UplinkRecord) => Promise<{ duplicate: boolean }>} append resolves when it is stored; `duplicate`:
 *   a queued edit that was stored before. Rejects with `unavailable`: the part is full, its readers have failed for
 *   long, or the store is not available
 * @property {(part: number, reader: Reader, options?: { failing?: boolean }) => Promise<Batch | null>} take the next
 *   records that the group has not read, at most `BATCH`; the same ones until `done`, for any process. Takes or
 *   renews the lease; null: another process has it. `failing`: the reader has failed for long, refuse new records
 * @property {(part: number, reader: Reader, upTo: string) => Promise<boolean>} done the group has read them; false: the
 *   lease was lost
 * @property {(part: number, reader: Reader) => Promise<void>} release gives the lease back; never rejects
 * @property {(part: number, entry: StreamEntry, reason: string) => Promise<void>} keepRefused keeps a record that a
 *   service refuses for good, for people; the oldest of 1,000 is dropped
 * @property {(onAppended: (part: number) => void) => () => void} watch calls back soon after records were appended;
 *   returns a function that ends it
 * @property {() => Promise<StreamState>} state of all parts together
 */

/** Parts of the stream, and the number of batches that are on their way at once. */
export const PARTS = 8
/** Per part; all of them hold 200,000 records and 256 MB. */
export const LIMITS = Object.freeze({ records: 25_000, bytes: 32 * 2 ** 20 })
/** Most records in a batch, and most bytes (or one record). */
export const BATCH = Object.freeze({ records: 100, bytes: 2 ** 20 })
/** Without `take` for this time another process may read the part, ms. */
export const LEASE = 6000
/** Time after the last `take` with `failing` during which new records are refused, ms. */
export const FAILING = 15_000
/** Refused records that are kept. */
export const MAX_REFUSED = 1000

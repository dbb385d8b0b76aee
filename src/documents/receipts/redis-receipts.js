/**
 * Collects the parts of a receipt from all workers that a record reached; the last worker to report sends the summary.
 * docs/internals/decisions/0032-receipts.md
 *
 * @typedef {object} OpenReceipt what a worker leaves behind of a receipt, if it dies
 * @property {import('./summary.js').Subject} about
 * @property {number} delivered
 * @property {number} unasked
 * @property {boolean} shared whether other workers may have parts of it
 *
 * @typedef {object} ReceiptParts
 * @property {() => string} holder this incarnation of the worker
 * @property {(id: string, open: OpenReceipt, holder: string) => Promise<void>} announce this worker wrote the record
 *   to that number of clients; if it dies, `createOrphans` closes the receipt
 * @property {(id: string, holder: string) => Promise<unknown>} settled nothing is left to do if this worker dies
 * @property {(id: string, part: object, announced: boolean) => Promise<any[]>} report this worker has finished.
 *   Resolves with all parts if it was the last, otherwise with []. After a failure the same call may be repeated
 * @property {(id: string) => Promise<any[]>} close ends the receipt. Resolves with all parts, a number of clients for
 *   each worker that has not reported, or with [] if another worker has closed it. After a failure as `report`
 */

/**
 * Time for which parts are kept after the deadline of a receipt, s: a worker that is blocked may still report.
 */
const SPARE = 60

/**
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'client' | 'keys'>} dependencies.redis
 * @param {number} dependencies.workerNumber
 * @param {() => string} dependencies.incarnation of this worker
 * @param {number} dependencies.timeout RECEIPT_TIMEOUT, ms
 * @returns {ReceiptParts}
 */
export function createReceiptParts ({ redis, workerNumber, incarnation, timeout }) {
  const seconds = secondsFor(timeout)
  const note = createNote({ redis, workerNumber, seconds })
  /** @param {string} id @param {string} part @param {boolean} announced */
  const noteAnswered = async (id, part, announced) => {
    const answer = redis.keys.receiptAnswer(id, incarnation())
    const parts = await note(id, part, announced, answer)
    // not awaited: it expires as well
    if (parts.length > 0) redis.client.del(answer).catch(() => {})
    return parts
  }
  return {
    holder: incarnation,
    async announce (id, open, holder) {
      const key = redis.keys.workerReceipts(holder)
      await Promise.all([
        redis.client.hset(key, id, JSON.stringify(open)),
        redis.client.expire(key, seconds),
        ...(open.shared ? [note(id, String(open.delivered), false)] : [])
      ])
    },
    settled: (id, holder) => redis.client.hdel(redis.keys.workerReceipts(holder), id),
    report: (id, part, announced) => noteAnswered(id, JSON.stringify(part), announced),
    close: (id) => noteAnswered(id, '', false)
  }
}

/** @param {number} timeout RECEIPT_TIMEOUT, ms */
export const secondsFor = (timeout) => Math.ceil(timeout / 1000) + SPARE

/**
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'keys'>} dependencies.redis
 * @param {number} dependencies.workerNumber whose part it is
 * @param {number} dependencies.seconds
 * @returns {(id: string, part: string, announced: boolean, answer?: string) => Promise<any[]>} see receipt.lua
 */
export const createNote = ({ redis, workerNumber, seconds }) => async (id, part, announced, answer) =>
  (await redis.scripts.receipt(
    [redis.keys.receiptParts(id), ...(answer === undefined ? [] : [answer])],
    [workerNumber, part, announced ? 1 : 0, seconds]
  )).map((text) => JSON.parse(text))

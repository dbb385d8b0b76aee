import { receiptParts } from '../redis/keys.js'

/**
 * Collects the parts of a receipt from all workers that a record reached; the last worker to report sends the summary.
 * docs/decisions/0032-receipts.md
 *
 * @typedef {object} ReceiptParts
 * @property {(id: string, clients: number) => Promise<void>} announce this worker wrote the record to that
 *   number of clients
 * @property {(id: string, part: object, announced: boolean) => Promise<any[]>} report this worker has finished.
 *   Resolves with all parts if it was the last, otherwise with []
 * @property {(id: string) => Promise<any[]>} close ends the receipt. Resolves with all parts, a number of clients for
 *   each worker that has not reported, or with [] if another worker has closed it
 */

/**
 * Time for which parts are kept after the deadline of a receipt, s: a worker that is blocked may still report.
 */
const SPARE = 60

/**
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {number} dependencies.workerNumber
 * @param {number} dependencies.timeout RECEIPT_TIMEOUT, ms
 * @returns {ReceiptParts}
 */
export function createReceiptParts ({ redis, workerNumber, timeout }) {
  const seconds = Math.ceil(timeout / 1000) + SPARE

  /** @param {string} id @param {string} part @param {boolean} announced */
  const note = async (id, part, announced) =>
    (await redis.scripts.receipt([receiptParts(id)], [workerNumber, part, announced ? 1 : 0, seconds])).map((text) =>
      JSON.parse(text)
    )

  return {
    async announce (id, clients) { await note(id, String(clients), false) },
    report: (id, part, announced) => note(id, JSON.stringify(part), announced),
    close: (id) => note(id, '', false)
  }
}

import { receiptParts } from '../redis/keys.js'

/**
 * Where the workers that a record reached put together what they know of its receipt, so that one of them tells it as
 * one summary: whoever is last. docs/decisions/0032-receipts.md
 *
 * @typedef {object} ReceiptParts
 * @property {(id: string, clients: number) => Promise<void>} announce this worker has written the record to so many
 * @property {(id: string, part: object, announced: boolean) => Promise<any[]>} report this worker has done. Resolves
 *   with all parts if it was the last, else with []
 * @property {(id: string) => Promise<any[]>} close there is no more to wait for. Resolves with all parts, a number of
 *   clients for each worker that has not reported, or with [] if another worker has them
 */

/**
 * How long parts are kept beyond the time in which they should come, s: a worker that stands still has a chance, and no
 * longer.
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

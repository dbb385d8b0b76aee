import { incarnationName } from '../../people/workers/worker-watch.js'
import { createNote, secondsFor } from './redis-receipts.js'
import { insist } from './reports.js'
import { receiptRecord } from './summary.js'

/**
 * Closes the receipts that an ended worker has left open: none of its connections can acknowledge any more. If live
 * workers have parts of a receipt, the last one of them sends it.
 */

/** Receipts per read, and in progress at the same time. */
const PAGE = 200

/**
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'client' | 'keys'>} dependencies.redis
 * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {number} dependencies.timeout RECEIPT_TIMEOUT, ms
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'receipts'>} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 * @returns {(number: number, incarnation: number, signal: AbortSignal) => Promise<void>} see WorkerWatch
 */
export function createOrphans ({ redis, uplink, timeout, metrics, log, clock, random }) {
  /** @param {import('./redis-receipts.js').OpenReceipt} open @param {any[]} parts @param {AbortSignal} signal */
  async function send ({ about, delivered }, parts, signal) {
    const record = receiptRecord(about, parts, clock.now())
    try {
      await insist(() => uplink.send(record), signal, clock, random)
    } catch (error) {
      metrics.receipts.inc({ result: 'unreported' }, delivered)
      log.debug({ err: error, traceId: about.traceId }, 'a receipt is lost')
    }
  }

  return async (number, incarnation, signal) => {
    const key = redis.keys.workerReceipts(incarnationName(number, incarnation))
    const note = createNote({ redis, workerNumber: number, seconds: secondsFor(timeout) })
    let cursor = '0'
    do {
      const [next, found] = await redis.client.hscan(key, cursor, 'COUNT', PAGE)
      cursor = next
      for (let at = 0; at < found.length; at += 2 * PAGE) {
        const some = found.slice(at, at + 2 * PAGE)
        await Promise.all(some.map(async (id, i) => {
          if (i % 2 === 1) return
          signal.throwIfAborted()
          /** @type {import('./redis-receipts.js').OpenReceipt} */
          const open = JSON.parse(some[i + 1])
          const part = { delivered: open.delivered, unasked: open.unasked, latencies: {}, missing: [] }
          const parts = open.shared ? await note(id, JSON.stringify(part), true) : [part]
          // of two cleaners one gets the parts, or removes the receipt of this worker alone
          const removed = await redis.client.hdel(key, id) === 1
          if (parts.length > 0 && (open.shared || removed)) await send(open, parts, signal)
        }))
      }
    } while (cursor !== '0')
    await redis.client.del(key)
  }
}

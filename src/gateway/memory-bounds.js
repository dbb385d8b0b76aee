import v8 from 'node:v8'

const MB = 2 ** 20
/** Memory of a pending acknowledgement at most, bytes: one member (docs/internals/decisions/0032-receipts.md). */
const RECEIPT_BYTES = 430

/**
 * Bounds of what a gateway worker keeps in memory for all of its connections together: parts of its heap, and never
 * more than measured workers had.
 * @param {number} [heap] limit of V8, bytes; `--max-old-space-size` sets it
 */
export function memoryBounds (heap = v8.getHeapStatistics().heap_size_limit) {
  return {
    /** Queued for slow connections, bytes. */
    maxWaitingBytesTotal: Math.min(256 * MB, Math.floor(heap / 8)),
    /** Read from logs for clients that reconnect or catch up, bytes. */
    maxReplayBytes: Math.min(64 * MB, Math.floor(heap / 32)),
    maxPendingReceipts: Math.min(100_000, Math.floor(heap / 32 / RECEIPT_BYTES))
  }
}

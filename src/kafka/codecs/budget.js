import { systemClock } from '../../common/clock.js'
import { within } from '../../common/wait.js'

/** Time for the decompression of one response, ms: the broker's other partitions wait meanwhile. */
const PER_RESPONSE = 250
/** Maximum number of batches that are being decompressed, or whose result is not fetched yet; others wait. */
const MAX_PENDING = 16
/** A result that is not requested any more (the partition was reassigned) is dropped after this time, ms. */
const FORGOTTEN_AFTER = 60_000

/**
 * @typedef {object} Pending
 * @property {Buffer} source
 * @property {Promise<Buffer>} result
 * @property {NodeJS.Timeout} timer
 */

/** @type {Set<Pending>} */
const pending = new Set()

/**
 * Time budget for the batches of one response. A batch that takes longer is left for the next response, which contains
 * it again and finds its decompression in progress or done.
 *
 * @param {number} [ms] for all batches; Infinity where a response must be read to its end
 */
export function createBudget (ms = PER_RESPONSE) {
  let left = ms
  return {
    /**
     * @param {(source: Buffer) => Promise<Buffer>} decompress
     * @param {Buffer} source
     * @returns {Promise<Buffer | undefined>} undefined: not ready yet
     * @throws the error of the decompression
     */
    async decompress (decompress, source) {
      if (left === Infinity) return decompress(source)
      const known = find(source)
      const since = systemClock.monotonic()
      // above the maximum the response waits nevertheless, to prevent a tight loop of requests
      const result = known?.result ?? (pending.size < MAX_PENDING ? decompress(source) : new Promise(() => {}))
      try {
        const plain = await within(result, left, undefined)
        if (plain === undefined && known === undefined && pending.size < MAX_PENDING) remember(source, result)
        else if (plain !== undefined) forget(known)
        return plain
      } catch (error) {
        forget(known)
        throw error
      } finally {
        left = Math.max(0, left - (systemClock.monotonic() - since))
      }
    }
  }
}

/** @param {Buffer} source @returns {Pending | undefined} */
function find (source) {
  for (const one of pending) {
    if (!one.source.equals(source)) continue
    one.timer.refresh()
    return one
  }
  return undefined
}

/** @param {Buffer} source @param {Promise<Buffer>} result */
function remember (source, result) {
  result.catch(() => {}) // thrown with the next request
  const one = { source: Buffer.from(source), result, timer: setTimeout(() => forget(one), FORGOTTEN_AFTER) }
  one.timer.unref()
  pending.add(one)
}

/** @param {Pending | undefined} one */
function forget (one) {
  if (one === undefined) return
  clearTimeout(one.timer)
  pending.delete(one)
}

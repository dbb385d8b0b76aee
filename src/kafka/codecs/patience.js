import { systemClock } from '../../common/clock.js'

/** What one response of a broker may wait for decompression, ms: the other partitions of that broker wait with it. */
const PER_RESPONSE = 250
/**
 * Batches that are being decompressed, or whose result nobody has fetched yet. While there are as many, others wait.
 */
const MAX_PENDING = 16
/** A batch that nobody asks for any more (its partition has another reader) is forgotten, ms. */
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
 * How long the batches of one response may take. A batch that takes longer is left for the next response, which brings
 * it again and finds its decompression under way, or done.
 *
 * @param {number} [budget] ms for all of them; Infinity where a response must be read to its end
 */
export function createPatience (budget = PER_RESPONSE) {
  let left = budget
  return {
    /**
     * @param {(source: Buffer) => Promise<Buffer>} decompress
     * @param {Buffer} source
     * @returns {Promise<Buffer | undefined>} undefined: not yet
     * @throws what the decompression fails with
     */
    async decompress (decompress, source) {
      if (left === Infinity) return decompress(source)
      const known = find(source)
      const since = systemClock.monotonic()
      // while there are too many the response is late all the same: it would be asked for in a tight loop
      const result = known?.result ?? (pending.size < MAX_PENDING ? decompress(source) : new Promise(() => {}))
      try {
        const plain = await within(result, left)
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
  result.catch(() => {}) // told when it is asked for again
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

/** @param {Promise<Buffer>} result @param {number} ms @returns {Promise<Buffer | undefined>} undefined: not in time */
async function within (result, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, ms, undefined) })
  try {
    return /** @type {Buffer | undefined} */ (await Promise.race([result, late]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Reads a document's log backwards, for clients that show earlier records.
 *
 * @typedef {import('../wire/position.js').Position} Position
 * @typedef {import('../bus/contract.js').BusRecord} BusRecord
 */

/** Records per read: a record may have a megabyte. */
const STEP = 16
/** The answer ends before the record that would exceed this size, bytes. */
const MAX_BYTES = 1_000_000

/**
 * @param {Pick<import('../bus/contract.js').Bus, 'history' | 'positions'>} bus
 * @param {string} guid
 * @param {{ before?: number | undefined, limit: number }} query before: offset; default: the end of the log
 * @returns {Promise<{ records: BusRecord[], position: Position | null, more: boolean }>} the newest records below
 *   `before`, in order; fewer than `limit` if they are large; the end of the log; whether there are earlier ones
 */
export async function readBackwards (bus, guid, { before, limit }) {
  const [end] = await bus.positions([guid])
  /** @type {BusRecord[]} newest first */
  const found = []
  let bytes = 0
  let last = Math.min((before ?? Infinity) - 1, end?.offset ?? 0)
  for (let step = STEP; end && last > 0 && found.length < limit;) {
    const count = Math.min(step, limit - found.length, last)
    const { records, gap } = await bus.history(guid, { epoch: end.epoch, offset: last - count }, count)
    if (records.length < count) {
      // the log begins within this step, or the records are too large for one read: smaller steps
      if (step === 1 || gap === 'epoch') return { records: found.reverse(), position: end, more: false }
      step = Math.floor(count / 2) || 1
      continue
    }
    for (const record of records.reverse()) {
      bytes += record.publication.value.length
      if (bytes > MAX_BYTES && found.length > 0) return { records: found.reverse(), position: end, more: true }
      found.push(record)
      last = record.offset - 1
    }
  }
  return { records: found.reverse(), position: end ?? null, more: last > 0 && await reaches() }

  /** Whether the log has the record at `last`. */
  async function reaches () {
    const { records } = await bus.history(guid, { epoch: /** @type {Position} */ (end).epoch, offset: last - 1 }, 1)
    return records.length > 0
  }
}

/**
 * Reads a document's log backwards, for clients that show earlier records.
 *
 * @typedef {import('../wire/position.js').Position} Position
 * @typedef {import('../log/bus/contract.js').BusRecord} BusRecord
 */

/** Records per read: a record may have a megabyte. */
const STEP = 16
/** The answer ends before the record that would exceed this size, bytes. */
const MAX_BYTES = 1_000_000

/**
 * @param {Pick<import('../log/bus/contract.js').Bus, 'history' | 'positions'>} bus
 * @param {string} guid
 * @param {{ before?: number | undefined, limit: number, maxBytes?: number, onBytes?: (bytes: number) => void }} query
 *   before: offset; default: the end of the log. maxBytes: of all values, default 1 MB. onBytes: called with the bytes
 *   of the values read until now; may throw
 * @returns {Promise<{ records: BusRecord[], position: Position | null, more: boolean }>} the newest records below
 *   `before`, in order, with `after`; fewer than `limit` if they are large; the end of the log; whether there are
 *   earlier ones
 */
export async function readBackwards (bus, guid, { before, limit, maxBytes = MAX_BYTES, onBytes }) {
  const [end] = await bus.positions([guid])
  if (end == null) return { records: [], position: null, more: false }
  /** @type {BusRecord[]} newest first */
  const found = []
  let bytes = 0
  let last = Math.min((before ?? Infinity) - 1, end.offset)
  /** Offsets per record: more than one where newer records of their key have replaced others. */
  let sparse = 1
  while (last > 0) {
    // one more than the limit shows that there are more
    const count = Math.min(STEP, limit + 1 - found.length)
    const span = Math.min(last, Math.floor(count * sparse) || 1)
    const { records, gap } = await bus.history(guid, { epoch: end.epoch, offset: last - span }, count)
    if (gap === 'epoch' || (gap !== null && span === 1)) break
    const reached = records.at(-1)?.offset ?? 0
    if (gap !== null || (reached < last && span > 1)) {
      // the log begins within this span, or it has too much for one read
      sparse = Math.floor(span / 2) / count
      continue
    }
    const within = records.filter(({ offset }) => offset <= last).reverse()
    for (const record of within) {
      bytes += record.publication.value.length
      if (found.length === limit || (bytes > maxBytes && found.length > 0)) return answer(record.offset, true)
      found.push(record)
      onBytes?.(bytes)
    }
    last -= span
    if (within.length < span / 2) sparse *= 4
  }
  return answer(last, false)

  /**
   * @param {number} to offset of the record before the first one, or up to which the log was trimmed
   * @param {boolean} more
   */
  function answer (to, more) {
    const records = found.reverse().map(({ after: _, ...record }, i) => {
      const after = found[i - 1]?.offset ?? to
      return record.offset === after + 1 ? record : { ...record, after }
    })
    return { records, position: /** @type {Position} */ (end), more }
  }
}

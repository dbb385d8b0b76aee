import { delayBefore } from '../connection/delay.js'
import { pause } from '../common/within.js'

/**
 * Loads a document from the service that stores it, and finds the records between its answer and those that arrive
 * live. The service may be ahead of the log that this client has seen, or behind it.
 *
 * @typedef {import('./positions.js').Position} Position
 * @typedef {import('../types.js').LoggedRecord} LoggedRecord
 */

/** Maximum records per request, the gateway's limit. */
const PAGE = 100
/** Maximum records that are read for one answer of the service: an older answer is requested again. */
const MAX_READ = 10_000

/**
 * @typedef {object} Source the document, as loading sees it
 * @property {() => Promise<Position>} joined resolves with the client's position in the log when the document is joined
 * @property {() => Position} position the client's position now
 * @property {(after: number, to: number) => boolean} holds whether each record of that range is held
 * @property {(query: { before: number, limit: number }) =>
 *   Promise<{ records: LoggedRecord[], position: Position }>} history
 * @property {(what: string, detail?: import('../common/log.js').LogEntry['detail']) => void} log
 */

/**
 * @typedef {object} Loaded
 * @property {Position} from what the service returned contains the records up to here
 * @property {LoggedRecord[] | null} records those after `from` up to `to`; null: they are held
 * @property {number} to offset
 */

/**
 * Calls `load` until it succeeds, with growing pauses.
 *
 * @param {object} options
 * @param {import('../types.js').Load} options.load
 * @param {import('../types.js').LoadReason} options.reason
 * @param {AbortSignal} options.signal
 * @param {Source} options.source
 * @returns {Promise<Loaded>} rejects with the error of `load` if its `retryable` is false, or the reason of the signal
 */
export async function loadDocument ({ load, reason, signal, source }) {
  for (let failures = 0; ; failures++) {
    if (failures > 0) await pause(delayBefore(failures - 1), signal)
    let position, answer
    try {
      position = await source.joined()
    } catch {
      signal.throwIfAborted()
      continue // refused for now; open documents continue when the client connects again
    }
    signal.throwIfAborted()
    try {
      answer = await load({ position: { ...position }, reason, signal })
    } catch (error) {
      signal.throwIfAborted()
      if (/** @type {any} */ (error)?.retryable === false) throw error
      source.log('load failed', String(/** @type {any} */ (error)?.message ?? error))
      continue
    }
    signal.throwIfAborted()
    const from = positionOf(answer) ?? position
    const end = source.position()
    if (from.epoch !== end.epoch) {
      source.log('load failed', 'the service returned a position in another log')
      continue
    }
    if (from.offset >= end.offset || source.holds(from.offset, end.offset))
      return { from, records: null, to: from.offset }
    const records = await readBetween(source, from, end).catch((error) => {
      source.log('history failed', error.code)
      return null
    })
    signal.throwIfAborted()
    if (records !== null) return { from, records, to: end.offset }
    source.log('load too old', { from: from.offset, end: end.offset })
  }
}

/** @param {any} answer of `load` @returns {Position | null} */
function positionOf (answer) {
  const { epoch, offset } = answer?.position ?? answer ?? {}
  return typeof epoch === 'string' && Number.isSafeInteger(offset) && offset >= 0 ? { epoch, offset } : null
}

/**
 * @param {Source} source
 * @param {Position} from
 * @param {Position} end of the same log
 * @returns {Promise<LoggedRecord[] | null>} null: the log no longer has all of them
 */
async function readBetween (source, from, end) {
  if (end.offset - from.offset > MAX_READ) return null
  /** @type {LoggedRecord[]} newest first */
  const found = []
  for (let next = end.offset; next > from.offset;) {
    const limit = Math.min(PAGE, next - from.offset)
    const { records, position } = await source.history({ before: next + 1, limit })
    if (position.epoch !== from.epoch || records.at(-1)?.meta.offset !== next) return null
    found.push(...records.reverse())
    const { offset, after } = /** @type {LoggedRecord} */ (found.at(-1)).meta
    next = after ?? /** @type {number} */ (offset) - 1
  }
  // if newer records have replaced others, a page may reach further back
  return found.reverse().filter(({ meta }) => /** @type {number} */ (meta.offset) > from.offset)
}

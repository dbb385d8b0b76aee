import { delayBefore } from '../connection/delay.js'
import { pause, throwIfAborted } from '../common/within.js'

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
 * @property {(error: unknown) => void} failed `load` is to blame, and is called again
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
    let position, from
    try {
      position = await source.joined()
    } catch {
      throwIfAborted(signal)
      continue // refused for now; open documents continue when the client connects again
    }
    throwIfAborted(signal)
    try {
      from = positionIn(await load({ position: { ...position }, reason, signal })) ?? position
    } catch (error) {
      throwIfAborted(signal)
      if (/** @type {any} */ (error)?.retryable === false) throw error
      source.failed(error)
      continue
    }
    throwIfAborted(signal)
    const end = source.position()
    if (from.epoch !== end.epoch) {
      source.failed(new Error('the service returned a position in another log'))
      continue
    }
    if (from.offset >= end.offset || source.holds(from.offset, end.offset))
      return { from, records: null, to: from.offset }
    const records = await readBetween(source, from, end).catch((error) => {
      source.log('history failed', error.code)
      return null
    })
    throwIfAborted(signal)
    if (records !== null) return { from, records, to: end.offset }
    source.log('load too old', { from: from.offset, end: end.offset })
  }
}

/**
 * @param {any} answer of `load`: a position, an object with one, or nothing
 * @returns {Position | null}
 * @throws {TypeError} it is something else: without a position the page would get records that it has already
 */
function positionIn (answer) {
  const position = Object(answer) === answer && 'position' in answer ? answer.position : answer
  if (position === undefined || position === null) return null
  const { epoch, offset } = position
  if (typeof epoch === 'string' && epoch !== '' && Number.isSafeInteger(offset) && offset >= 0) return { epoch, offset }
  let got = String(position)
  try {
    got = JSON.stringify(position).slice(0, 100)
  } catch {}
  throw new TypeError(`it returned ${got}: return { epoch, offset }, a text and a whole number, or nothing`)
}

/**
 * @param {Pick<Source, 'history'>} source
 * @param {Position} from
 * @param {Position} end of the same log
 * @returns {Promise<LoggedRecord[] | null>} null: the log no longer has all of them
 */
export async function readBetween (source, from, end) {
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

import { InkcastError } from '../../../base/common/errors.js'

/** Open at the same time for one caller: one that opens too many takes none from others. */
const MAX_STREAMS = 100
/** Values in progress of all streams together, and the least for each one, bytes. */
const WINDOW = Object.freeze({ all: 64 * 2 ** 20, least: 64 * 1024 })

/**
 * The open streams of callers. A stream ends with the credential of its caller, also if nothing is sent on it.
 *
 * @typedef {import('../callers/caller.js').Caller} Caller
 * @typedef {import('./call.js').Call} Call
 */
export class OpenStreams {
  /** @type {Set<{ caller: Caller, operation: string, ending: AbortController }>} */
  #open = new Set()
  /** By name of the caller. @type {Map<string, number>} */
  #counts = new Map()
  #callers
  #metrics
  #limit
  #stopped = false

  /**
   * @param {object} dependencies
   * @param {Pick<import('../callers/callers.js').Callers, 'check' | 'rates'>} dependencies.callers
   * @param {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'grpc_streams'>} dependencies.metrics
   * @param {import('../request-limit.js').RequestLimit} dependencies.limit of the bytes of
   *   messages that have not ended
   */
  constructor ({ callers, metrics, limit }) {
    this.#callers = callers
    this.#metrics = metrics
    this.#limit = limit
  }

  /** Bytes of values that one stream may have in progress. */
  get share () { return Math.max(WINDOW.least, WINDOW.all / Math.max(1, this.#open.size)) }

  /**
   * @param {import('./call.js').Endpoint} endpoint
   * @param {Call} call
   * @param {Caller} caller
   * @returns {Promise<void>} rejects with what ends the stream
   */
  async serve ({ operation, list, serve }, call, caller) {
    const { name } = caller
    const count = this.#counts.get(name) ?? 0
    if (count >= MAX_STREAMS)
      throw new InkcastError('unavailable', `the caller ${name} has ${MAX_STREAMS} open streams; close some`)
    const permit = this.#limit.enter(0, name)
    const ending = new AbortController()
    const entry = { caller, operation, ending }
    this.#counts.set(name, count + 1)
    this.#open.add(entry)
    this.#metrics.grpc_streams.set(this.#open.size)
    call.on('refused', (error) => {
      this.#callers.rates.refused(caller.name, error.code === 'bad_request' ? list?.max : 1)
      ending.abort(error)
    })
    if (this.#stopped) ending.abort(new InkcastError('draining'))
    try {
      const serving = serve?.(call, { caller, signal: ending.signal })
      call.read({ bytes: permit, streams: true, list, caller: name })
      await serving
      if (ending.signal.aborted) throw ending.signal.reason
    } finally {
      this.#open.delete(entry)
      this.#metrics.grpc_streams.set(this.#open.size)
      const left = /** @type {number} */ (this.#counts.get(name)) - 1
      if (left === 0) this.#counts.delete(name)
      else this.#counts.set(name, left)
      permit.release()
    }
  }

  /** Ends the streams whose caller is not one any more. */
  look () {
    for (const { caller, operation, ending } of this.#open) {
      try {
        this.#callers.check(caller, operation === 'events' ? { operation } : undefined)
      } catch (error) {
        ending.abort(error)
      }
    }
  }

  /** Ends all streams with `draining`. */
  stop () {
    this.#stopped = true
    for (const { ending } of this.#open) ending.abort(new InkcastError('draining'))
  }
}

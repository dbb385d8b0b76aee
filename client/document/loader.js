import { ClientError } from '../common/error.js'
import { throwIfAborted } from '../common/within.js'
import { loadDocument } from './load.js'
import { nameOf } from './own-events.js'

/** Reason to hold events. */
const LOAD = 'load'
/** Held events that are kept when a load replaces another one: it does not bring them. */
const KEPT = /^(joined|presence)$/
/** Maximum number of them: fewer than are held. */
const MAX_KEPT = 1000

/** @typedef {import('./positions.js').Position} Position */

/**
 * @param {unknown} load the option
 * @returns {typeof Loader}
 * @throws {TypeError} it is no function
 */
export function loaderFor (load) {
  if (typeof load !== 'function') throw new TypeError(`the option \`load\` of open must be a function; got ${typeof load}`)
  return Loader
}

/** Loads one opened document, again after each resync, and holds its events meanwhile. */
export class Loader {
  #load
  #membership
  #inbox
  /** @type {AbortController | null} */
  #controller = null
  /** Offset of the last record that was not held, of those that arrived during this load. */
  #dropped = 0
  #warned = false
  /** Why the last call of `load` failed; null: it did not. @type {ClientError | null} */
  reason = null

  /**
   * @param {import('../types.js').Load} load
   * @param {import('../types.js').Shared} membership
   * @param {{ held: import('./held.js').Held, floor: number, checkStatus: () => void,
   *   fail: (error: ClientError) => void }} inbox its status is checked when `loading` or `reason` has changed; it
   *   fails if `load` does not want to be repeated
   */
  constructor (load, membership, inbox) {
    this.#load = load
    this.#membership = membership
    this.#inbox = inbox
  }

  get loading () { return this.#controller !== null }

  /** Loads the document; replaces a load in progress. @param {import('../types.js').LoadReason} reason */
  start (reason) {
    const { held } = this.#inbox
    this.#controller?.abort()
    this.#controller = new AbortController()
    this.#inbox.floor = 0
    this.#dropped = 0
    this.#dropRecords()
    held.reasons.add(LOAD)
    this.#run(reason, this.#controller)
    this.#inbox.checkStatus()
  }

  /** Too many events are held: it drops them, because the log has them. */
  overflow () {
    if (!this.loading) return this.start('overflow')
    this.#dropped = this.#membership.position?.offset ?? 0
    this.#dropRecords()
  }

  stop () {
    this.#controller?.abort()
    this.#controller = null
  }

  /** Never rejects. @param {import('../types.js').LoadReason} reason @param {AbortController} controller */
  async #run (reason, { signal }) {
    const { held } = this.#inbox
    const membership = this.#membership
    membership.log('loading', reason)
    try {
      const { from, records, to } = await loadDocument({
        load: this.#load,
        reason,
        signal,
        source: {
          joined: () => membership.whenJoined(),
          position: () => /** @type {Position} */ (membership.position),
          holds: (after, upTo) => this.#holds(after, upTo),
          history: (query) => membership.history(query),
          log: membership.log,
          failed: (error) => this.#failed(error)
        }
      })
      throwIfAborted(signal)
      if (this.#dropped > to) return this.start('overflow') // the log was read only up to `to`
      this.#controller = null
      this.#inbox.floor = from.offset
      held.replace([
        ...(records ?? []).map(({ event, payload, meta }) =>
          /** @type {[string, any[]]} */ ([nameOf(event), [payload, { ...meta, epoch: from.epoch }]])),
        ...held.events.filter(([, [, meta]]) => !(meta?.offset <= to))
      ])
      membership.log('loaded', from)
      this.reason = null
      this.#inbox.checkStatus()
      if (this.loading) return // a listener has called `reload`
      held.release(LOAD)
      membership.dealtWith()
    } catch (error) {
      if (signal.aborted) return // by a newer load, or the document was closed
      this.#controller = null
      this.#inbox.fail(failure(error, 'the document cannot be loaded'))
    }
  }

  /** `load` has failed, and is called again. @param {unknown} error */
  #failed (error) {
    const membership = this.#membership
    const reason = failure(error, '`load` failed, and is called again', true)
    membership.log('load failed', reason.message)
    // a failure that goes on is reported once
    if (reason.message !== this.reason?.message) this.reason = reason
    if (!this.#warned) console.warn(`inkcast: document ${JSON.stringify(membership.guid)}: ${reason.message}`, error)
    this.#warned = true
    this.#inbox.checkStatus()
  }

  /** The log has the records. Other events come only once, and all of them could fill the place for records. */
  #dropRecords () {
    const { held } = this.#inbox
    held.replace(held.events.filter(([event]) => KEPT.test(event)).slice(-MAX_KEPT))
  }

  /** @param {number} after @param {number} upTo @returns {boolean} whether all records of that range are held */
  #holds (after, upTo) {
    let next = after + 1
    for (const [, [, meta]] of this.#inbox.held.events) if (meta?.offset === next) next++
    return next > upTo
  }
}

/** @param {any} error of `load` @param {string} what @param {boolean} [retryable] */
const failure = (error, what, retryable) => new ClientError(
  { code: 'load_failed', message: `${what}: ${error?.message ?? error}`, retryable }, { cause: error }
)

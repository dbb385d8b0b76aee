import { Backoff } from '../base/common/backoff.js'

/** Logs whose ends are read in one call. */
const BATCH = 500

/** Compares documents with their logs after an interruption of live delivery; retries until it succeeds. */
export class InterruptedFeeds {
  /** Documents to compare with their logs. @type {Set<string>} */
  #unchecked = new Set()
  #isChecking = false

  /** @param {import('./idle-check.js').FeedsToCheck} dependencies */
  constructor (dependencies) { this.dependencies = dependencies }

  /** @param {Iterable<string>} guids */
  async check (guids) {
    const { feeds, clock, random, signal } = this.dependencies
    for (const guid of guids) if (feeds.has(guid)) this.#unchecked.add(guid)
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      const backoff = new Backoff({ min: 100, random })
      while (this.#unchecked.size > 0) {
        signal.throwIfAborted()
        const batch = [...this.#unchecked].slice(0, BATCH)
        // before the call: a document that is interrupted again meanwhile has to be compared again
        for (const guid of batch) this.#unchecked.delete(guid)
        const left = await this.#compare(batch)
        // at the end of the queue: an unavailable part of the backend must not delay the others
        for (const guid of left) if (feeds.has(guid)) this.#unchecked.add(guid)
        if (left.length < batch.length) backoff.reset()
        else await clock.sleep(backoff.next(), signal)
      }
    } finally {
      this.#isChecking = false
    }
  }

  /** @param {string[]} guids @returns {Promise<string[]>} those that could not be compared */
  async #compare (guids) {
    const { feeds, bus, metrics, log } = this.dependencies
    try {
      const ends = await bus.positions(guids)
      return guids.filter((guid, i) => {
        const end = ends[i]
        if (end !== undefined) feeds.get(guid)?.check(end)
        return end === undefined
      })
    } catch (error) {
      metrics.bus_errors.inc({ operation: 'positions' })
      log.debug({ err: error }, 'documents cannot be compared with their logs, retrying')
      return guids
    }
  }
}

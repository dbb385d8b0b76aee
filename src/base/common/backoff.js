/**
 * Delays between retries: doubled from `min` to `max` ms, spread at random over the upper half, so that many processes
 * that lost the same server do not retry in step.
 */
export class Backoff {
  #tries = 0

  /**
   * @param {object} options
   * @param {number} [options.min] ms, default 50
   * @param {number} [options.max] ms, default 5,000
   * @param {Pick<import('./random.js').Random, 'number'>} options.random
   */
  constructor ({ min = 50, max = 5000, random }) {
    this.min = min
    this.max = max
    this.random = random
  }

  /** Number of failed tries since the last reset. */
  get tries () { return this.#tries }

  /** @returns {number} ms to wait before the next try */
  next () {
    const ceiling = Math.min(this.max, this.min * 2 ** Math.min(this.#tries++, 30))
    return ceiling / 2 + this.random.number() * ceiling / 2
  }

  reset () { this.#tries = 0 }
}

/**
 * Runs `attempt` until it succeeds, with backoff, or until the signal aborts (then rejects with the abort reason).
 * @template T
 * @param {(tries: number) => Promise<T>} attempt
 * @param {object} options
 * @param {AbortSignal} [options.signal]
 * @param {(error: unknown, waitMs: number) => void} [options.onFailure] called for each failed try
 * @param {(error: unknown) => boolean} [options.retryable] false: give up at once with this error; default: always true
 * @param {Backoff} options.backoff
 * @param {Pick<import('./clock.js').Clock, 'sleep'>} options.clock
 * @returns {Promise<T>}
 */
export async function retry (
  attempt,
  { signal, onFailure, retryable = () => true, backoff, clock }
) {
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await attempt(backoff.tries)
    } catch (error) {
      signal?.throwIfAborted()
      if (!retryable(error)) throw error
      const wait = backoff.next()
      onFailure?.(error, wait)
      await clock.sleep(wait, signal)
    }
  }
}

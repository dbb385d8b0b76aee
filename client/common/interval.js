/** A timer that repeats, in one place, so that tests can replace it. Not in the clock: the core does without it. */
export const interval = {
  /**
   * @param {number} ms
   * @param {() => void} run
   * @returns {import('./clock.js').Timer} in Node it does not keep the process running
   */
  every (ms, run) {
    /** @type {any} */
    const id = setInterval(run, ms)
    id.unref?.()
    return { stop () { clearInterval(id) } }
  }
}

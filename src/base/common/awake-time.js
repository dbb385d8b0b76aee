/**
 * Time for deadlines of others, such as a client's first bytes. It leaves out what this process has slept or hung,
 * since bytes that arrive meanwhile wait to be read: no client ends because of a busy or paused machine.
 */
export class AwakeTime {
  #clock
  #longest
  #read
  #awake = 0

  /**
   * @param {Pick<import('./clock.js').Clock, 'monotonic'>} clock
   * @param {number} longest time between two calls of `now` that counts, ms; more than the interval at which its
   *   owner looks
   */
  constructor (clock, longest) {
    this.#clock = clock
    this.#longest = longest
    this.#read = clock.monotonic()
  }

  /** @returns {number} ms since this object was made; less after a pause between two calls */
  now () {
    const time = this.#clock.monotonic()
    this.#awake += Math.min(time - this.#read, this.#longest)
    this.#read = time
    return this.#awake
  }
}

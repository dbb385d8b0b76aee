import { InkcastError } from './errors.js'

/**
 * Work of many, a few pieces at the same time. Waiting pieces take turns by owner, so that one with much work delays
 * another by one piece only.
 */
export class FairTurns {
  #atOnce
  #maxWaiting
  #refusal
  #working = 0
  #count = 0
  /**
   * By who asks, in the order of their turns.
   * @type {Map<string, { go: () => void, fail: (error: unknown) => void }[]>}
   */
  #waiting = new Map()

  /**
   * @param {object} bounds
   * @param {number} bounds.atOnce pieces in progress
   * @param {number} bounds.maxWaiting pieces that wait, of all together
   * @param {string} bounds.refusal message of `unavailable`, for work above that
   */
  constructor ({ atOnce, maxWaiting, refusal }) {
    this.#atOnce = atOnce
    this.#maxWaiting = maxWaiting
    this.#refusal = refusal
  }

  /**
   * @template T
   * @param {string} who
   * @param {() => Promise<T>} work
   * @returns {Promise<T>} rejects with `unavailable` if too much is waiting
   */
  async run (who, work) {
    if (this.#working < this.#atOnce) this.#working++
    else await this.#turnOf(who)
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  /** Ends the work that waits. @param {unknown} error */
  failWaiting (error) {
    for (const waiting of this.#waiting.values()) for (const { fail } of waiting) fail(error)
    this.#waiting.clear()
    this.#count = 0
  }

  /** @param {string} who @returns {Promise<void>} */
  #turnOf (who) {
    if (this.#count >= this.#maxWaiting) this.#makeRoom(who)
    this.#count++
    return new Promise((resolve, reject) => {
      const one = { go: resolve, fail: reject }
      const others = this.#waiting.get(who)
      if (others === undefined) this.#waiting.set(who, [one])
      else others.push(one)
    })
  }

  /**
   * Refuses the last piece of the one with the most, so that one with many takes no place of another.
   * @param {string} who asks for a place
   * @throws {InkcastError} unavailable, when this one has as many as any other
   */
  #makeRoom (who) {
    let most = this.#waiting.get(who) ?? []
    const own = most.length
    for (const waiting of this.#waiting.values()) if (waiting.length > most.length) most = waiting
    if (most.length <= own + 1) throw this.#tooMany()
    const last = /** @type {{ fail: (error: unknown) => void }} */ (most.pop())
    last.fail(this.#tooMany())
    this.#count--
  }

  /** Hands the place of a piece that has ended to the next one. */
  #next () {
    const [first] = this.#waiting
    if (first === undefined) return void this.#working--
    const [who, waiting] = first
    this.#count--
    this.#waiting.delete(who)
    const one = /** @type {{ go: () => void }} */ (waiting.shift())
    if (waiting.length > 0) this.#waiting.set(who, waiting)
    one.go()
  }

  #tooMany () { return new InkcastError('unavailable', this.#refusal) }
}

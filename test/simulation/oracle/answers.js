/** For timers of the one who waits, ms. */
const SLACK = 100

/** Each request has an answer, or is rejected, within its documented time, without the pauses of the one who waits. */
export class Answers {
  /**
   * Requests of the living without an answer.
   * @type {Map<object, { process: import('../world/sim-process.js').SimProcess, what: string, since: number }>}
   */
  #open = new Map()
  answered = 0
  rejected = 0

  /** @param {import('../world/world.js').World} world */
  constructor (world) { this.world = world }

  /**
   * @template T
   * @param {import('../world/sim-process.js').SimProcess} process who asks
   * @param {string} what
   * @param {number} within ms
   * @param {Promise<T>} answer
   * @returns {Promise<T>} the same
   */
  to (process, what, within, answer) {
    const { world } = this
    const since = world.time
    const { pausedFor } = process
    const request = { process, what, since }
    this.#open.set(request, request)
    const settled = () => {
      this.#open.delete(request)
      const ms = world.time - since - (process.pausedFor - pausedFor)
      if (ms > within + SLACK) world.violation(`${process.name}: ${what} has an answer after ${ms.toFixed()} ms; promised are ${within}`)
    }
    return answer.then((value) => {
      this.answered++
      settled()
      return value
    }, (error) => {
      this.rejected++
      settled()
      throw error
    })
  }

  /** @returns {string | undefined} what still waits */
  get missing () {
    for (const { process, what, since } of this.#open.values())
      if (process.isAlive) return `${process.name}: ${what} of ${(since / 1000).toFixed(3)} s has no answer`
    return undefined
  }
}

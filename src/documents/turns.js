/**
 * Spreads work over turns of the event loop, in order of arrival and with a limit of units per turn, so that thousands
 * of callers that waited for the same result do not block the event loop.
 */
export class Turns {
  /** One entry per waiting caller. @type {{ units: number, go: () => void }[]} */
  #waiting = []
  #used = 0
  /** @type {Pick<import('../base/common/clock.js').Timer, 'stop'> | undefined} */
  #next

  #clock

  /**
   * @param {number} perTurn units; work starts while some are left, so the last one may exceed it
   * @param {Pick<import('../base/common/clock.js').Clock, 'soon'>} clock
   */
  constructor (perTurn, clock) {
    this.perTurn = perTurn
    this.#clock = clock
  }

  /** @param {number} units @returns {Promise<void> | undefined} resolves when the work may start; undefined: now */
  take (units) {
    if (this.#next === undefined) this.#next = this.#clock.soon(this.#turn)
    if (this.#used < this.perTurn && this.#waiting.length === 0) {
      this.#used += units
      return undefined
    }
    return new Promise((resolve) => { this.#waiting.push({ units, go: resolve }) })
  }

  #turn = () => {
    this.#used = 0
    let count = 0
    while (count < this.#waiting.length && this.#used < this.perTurn) {
      const { units, go } = this.#waiting[count++]
      this.#used += units
      go()
    }
    this.#waiting.splice(0, count)
    this.#next = count > 0 ? this.#clock.soon(this.#turn) : undefined
  }
}

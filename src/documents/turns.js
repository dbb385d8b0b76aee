/**
 * Spreads work over turns of the event loop, in order of arrival and with a limit of units per turn, so that thousands
 * of callers that waited for the same result do not block the event loop.
 */
export class Turns {
  /** One entry per waiting caller. @type {{ units: number, go: () => void }[]} */
  #waiting = []
  #used = 0
  /** @type {NodeJS.Immediate | undefined} */
  #next

  /** @param {number} perTurn units; work starts while some are left, so the last one may exceed it */
  constructor (perTurn) { this.perTurn = perTurn }

  /** @param {number} units @returns {Promise<void> | undefined} resolves when the work may start; undefined: now */
  take (units) {
    if (this.#next === undefined) this.#next = setImmediate(this.#turn)
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
    this.#next = count > 0 ? setImmediate(this.#turn) : undefined
  }
}

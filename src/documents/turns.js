/**
 * Spreads work over turns of the event loop: so many units in one, the rest in the order in which it came, so that
 * thousands who waited for the same thing do not hold up everything else when it comes.
 */
export class Turns {
  /** Bounded by who waits: each has one entry. @type {{ units: number, go: () => void }[]} */
  #waiting = []
  #used = 0
  /** @type {NodeJS.Immediate | undefined} */
  #next

  /** @param {number} perTurn units, begun with as long as there are some left */
  constructor (perTurn) { this.perTurn = perTurn }

  /** @param {number} units @returns {Promise<void> | undefined} resolves when it may be done; undefined: now */
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

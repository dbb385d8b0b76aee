import { InkcastError } from '../base/common/errors.js'

/** Concurrent reads: the answers of Redis are up to 4 MB, and everything else of the process waits behind them. */
const MAX_READS = 4
/** Reads that wait, of all together. */
const MAX_WAITING = 1000

/**
 * Reads of logs for one answer each, a few at the same time. Waiting readers take turns, so that one with many requests
 * delays another by one read only.
 */
export class FairReads {
  #reading = 0
  #count = 0
  /**
   * By who asks, in the order of their turns.
   * @type {Map<string, { go: () => void, fail: (error: unknown) => void }[]>}
   */
  #waiting = new Map()

  /**
   * @template {Pick<import('../log/bus/contract.js').Bus, 'history'>} B
   * @param {B} bus
   * @param {string} who asks
   * @returns {B} with `history` in turn
   */
  of (bus, who) {
    return { ...bus, history: (...args) => this.#read(who, () => bus.history(...args)) }
  }

  /**
   * @template T
   * @param {string} who
   * @param {() => Promise<T>} read
   * @returns {Promise<T>}
   */
  async #read (who, read) {
    if (this.#reading < MAX_READS) this.#reading++
    else await this.#turnOf(who)
    try {
      return await read()
    } catch (error) {
      // Redis does not answer: one after the other would wait for as long. Other errors are those of one document.
      if (error instanceof InkcastError && error.code === 'unavailable') this.#failAll(error)
      throw error
    } finally {
      this.#next()
    }
  }

  /** @param {string} who @returns {Promise<void>} */
  #turnOf (who) {
    if (this.#count >= MAX_WAITING) this.#makeRoom(who)
    this.#count++
    return new Promise((resolve, reject) => {
      const one = { go: resolve, fail: reject }
      const others = this.#waiting.get(who)
      if (others === undefined) this.#waiting.set(who, [one])
      else others.push(one)
    })
  }

  /**
   * Refuses the last read of the reader with the most, so that one with many takes no place of another.
   * @param {string} who asks for a place
   * @throws {InkcastError} unavailable, when this reader has as many as any other
   */
  #makeRoom (who) {
    let most = this.#waiting.get(who) ?? []
    const own = most.length
    for (const waiting of this.#waiting.values()) if (waiting.length > most.length) most = waiting
    if (most.length <= own + 1) throw tooMany()
    const last = /** @type {{ fail: (error: unknown) => void }} */ (most.pop())
    last.fail(tooMany())
    this.#count--
  }

  /** Ends the reads that wait. @param {unknown} error */
  #failAll (error) {
    for (const waiting of this.#waiting.values()) for (const { fail } of waiting) fail(error)
    this.#waiting.clear()
    this.#count = 0
  }

  /** Hands the place of a read to the next one. */
  #next () {
    const [first] = this.#waiting
    if (first === undefined) return void this.#reading--
    const [who, waiting] = first
    this.#count--
    this.#waiting.delete(who)
    const one = /** @type {{ go: () => void }} */ (waiting.shift())
    if (waiting.length > 0) this.#waiting.set(who, waiting)
    one.go()
  }
}

const tooMany = () => new InkcastError('unavailable', 'too many histories are being read; try again')

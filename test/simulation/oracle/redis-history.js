/** Losses of data and steps of the clock of Redis, for promises that depend on them. */
export class RedisHistory {
  #world
  #servers

  /**
   * @param {import('../world/world.js').World} world
   * @param {import('../parts/redis/server.js').RedisServer[]} servers
   */
  constructor (world, servers) {
    this.#world = world
    this.#servers = servers
  }

  /** @param {number} since virtual ms @returns {boolean} something that Redis had accepted since then may be lost */
  mayHaveLost (since) { return this.#servers.some(({ losses }) => losses.some((at) => at >= since)) }

  /** Whether a clock was set back, and not forward again. */
  get wasSetBack () {
    return this.#servers.some(({ steps }) => steps.some(({ offset }) => offset > (steps.at(-1)?.offset ?? 0)))
  }

  /** @param {number} from virtual ms @param {number} to @returns {number} the clock shows no less, ms since 1970 */
  earliest (from, to) { return this.#begin + from + Math.min(...this.#offsets(from, to)) }

  /** @param {number} from virtual ms @param {number} to @returns {number} the clock shows no more, ms since 1970 */
  latest (from, to) { return this.#begin + to + Math.max(...this.#offsets(from, to)) }

  get #begin () { return this.#world.wall - this.#world.time }

  /** @param {number} from @param {number} to */
  #offsets (from, to) {
    return this.#servers.flatMap(({ steps }) => steps
      .filter(({ at }, i) => at <= to && (steps[i + 1]?.at ?? Infinity) > from)
      .map(({ offset }) => offset))
  }
}

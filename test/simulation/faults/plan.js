import { drawnApart } from '../world/random.js'
import { KINDS } from './kinds.js'

/** Most faults of one world. */
const MOST = 14
/** Share of the duration within which faults begin. */
const [FIRST, LAST] = [0.1, 0.85]
/** A late fault begins within this time before the end of the traffic, ms: no later record shows what it has done. */
const LATE = 2000

/**
 * The faults of a seed: each world has its own mix of kinds, and its own intensity. A fault draws from a source of its
 * own, so leaving out another one changes nothing of what it does.
 *
 * @typedef {object} Scene what faults can reach
 * @property {import('../world/world.js').World} world
 * @property {import('../parts/cluster.js').Cluster} cluster
 * @property {import('../parts/page.js').Page[]} pages
 * @property {import('../parts/broker.js').Broker} [broker]
 *
 * @typedef {object} Fault
 * @property {number} at ms after the beginning
 * @property {string} kind
 * @property {import('../world/random.js').SeededRandom} drawn
 */
export class FaultPlan {
  /** Each fault that was made, in words. @type {string[]} */
  words = []
  /** How many were made of each kind. @type {Record<string, number>} */
  counts = {}
  /** Whether one was made after which docs/concepts.md allows a resync. */
  #mayResync = false
  /** Whether one was made after which it allows a resync if another fault hinders inkcast. */
  #mayResyncBeside = false
  /** @type {Fault[]} */
  faults = []
  #isOver = false

  /**
   * @param {import('../world/world.js').World} world
   * @param {object} options
   * @param {import('../parts/cluster.js').Cluster} options.cluster
   * @param {import('../parts/page.js').Page[]} options.pages
   * @param {import('../parts/broker.js').Broker} [options.broker]
   * @param {number} options.duration ms
   * @param {readonly string[]} [options.kinds] default: all
   * @param {boolean} [options.upgrades] whether machines may get another version
   * @param {ReadonlySet<number>} options.without
   */
  constructor (world, { cluster, pages, broker, duration, kinds, upgrades = false, without }) {
    this.world = world
    this.scene = { world, cluster, pages, broker }
    this.without = without
    const drawn = world.random.fork()
    /** @type {Record<string, boolean>} */
    const has = {
      kafka: broker !== undefined, launcher: cluster.launchers.length > 0, upgrade: upgrades, [cluster.redis.kind]: true
    }
    const possible = Object.entries(KINDS).filter(([name, { needs, onlyNamed }]) =>
      (kinds?.includes(name) ?? !onlyNamed) &&
      (needs === undefined || has[needs]))
    /** Some kinds do not happen at all, others often. @type {string[]} */
    const mix = []
    for (const [name] of possible) {
      const weight = drawn.chance(0.45) ? 0 : drawn.whole(1, 4)
      for (let i = 0; i < weight; i++) mix.push(name)
    }
    const at = (/** @type {import('../world/random.js').SeededRandom} */ from) =>
      duration * (FIRST + (LAST - FIRST) * from.number())
    const count = mix.length === 0 ? 0 : drawn.whole(0, MOST)
    for (let i = 0; i < count; i++) {
      this.faults.push({ at: at(drawn), kind: drawn.pick(mix), drawn: drawn.fork() })
    }
    for (const [kind, { apart, isLate, needs }] of Object.entries(KINDS)) {
      if (apart === undefined || kinds !== undefined || (needs !== undefined && !has[needs])) continue
      const own = drawnApart(world.seed, apart)
      if (own === undefined) continue
      this.faults.push({ at: isLate ? duration - LATE * own.number() : at(own), kind, drawn: own })
    }
    this.faults.sort((a, b) => a.at - b.at)
  }

  /** Whether Redis may have lost more than a failover loses. */
  get mayHaveLost () { return this.#mayResync }

  get mayResync () {
    return this.#mayResync || this.scene.cluster.redis.failovers > 0 ||
      (this.#mayResyncBeside && Object.keys(this.counts).length > 1)
  }

  /** Faults begin to happen. */
  begin () {
    for (const [i, fault] of this.faults.entries()) {
      if (!this.without.has(i)) this.world.schedule(fault.at, `fault ${fault.kind}`, () => this.#make(i, fault), null)
    }
  }

  /** @param {number} i @param {Fault} fault */
  #make (i, { kind, drawn }) {
    if (this.#isOver) return
    const { make, mayResync } = KINDS[kind]
    const words = make(this.scene, drawn)
    if (words === undefined) return
    if (mayResync === 'beside others') this.#mayResyncBeside = true
    else if (typeof mayResync === 'function' ? mayResync(this.scene) : mayResync) this.#mayResync = true
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    const line = `${i}: at ${(this.world.time / 1000).toFixed(3)} s ${words}`
    this.words.push(line)
    this.world.trace.fault(this.world.time, line)
  }

  /** No fault any more, and what still lasts ends. */
  end () {
    this.#isOver = true
    const { world, cluster, broker } = this.scene
    world.network.unblock()
    broker?.heal()
    // as NTP does
    for (const machine of cluster.machines) machine.step = 0
    for (const process of world.processes) if (process.isPaused) process.resume()
    for (const launcher of cluster.launchers) if (launcher.isCordoned) launcher.cordon(false)
    for (const server of cluster.redis.servers) server.empty()
    cluster.redis.heal()
  }
}

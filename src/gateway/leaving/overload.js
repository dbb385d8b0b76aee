import v8 from 'node:v8'
import { LogLimit } from '../../base/common/log-limit.js'
import { memoryLimit } from '../../base/machine/memory.js'

/**
 * Protects a worker that has more work than it can do, because of its event loop or its memory: first it refuses
 * new clients; when that is not enough it sends anonymous clients away, some at a time, those without an open document
 * first. Clients with a token stay.
 *
 * Why: docs/internals/decisions/0051-many-clients-at-once.md
 */

/** Interval of the checks, ms. */
const TICK = 500
/**
 * The event loop is late by the median of this many checks: one pause of any length (a stopped process, a laptop's
 * sleep) is no overload.
 */
const CHECKS = 5
/** Delay of the event loop above which a worker is overloaded; below half of it the worker is calm, ms. */
const MAX_LAG = 1000
/** Time until clients are sent away, and of calm until new clients are accepted again, ms. */
const PATIENCE = 5000
/** Used share of its memory from which on a worker is overloaded, and below which it is calm. */
const MEMORY = { full: 0.9, calm: 0.85 }
/** Share of all connections that is sent away per check. */
const SHED = 0.01
/** Range of the time after which a client that was sent away should connect again, ms. */
const [EARLIEST, LATEST] = [10_000, 60_000]

export class Overload {
  #enabled
  #directory
  #memory
  #metrics
  #log
  #clock
  #random
  #logLimit
  /** Delays of the last checks, ms. @type {number[]} */
  #lags = []
  /** Undefined: it is not overloaded. @type {'lag' | 'memory' | undefined} */
  #cause
  #since = 0
  /** Since when it has been calm, while new clients are refused. @type {number | undefined} */
  #calmSince
  #last = 0
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer

  /**
   * @param {object} dependencies
   * @param {boolean} dependencies.enabled in production: a developer's machine is also busy with builds and tests, and
   *   the clients are the developer's own
   * @param {import('../directory.js').Directory} dependencies.directory
   * @param {() => number} dependencies.memory used share of this worker's memory, 0 to 1
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'overloaded' | 'connections_shed'>}
   *   dependencies.metrics
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {import('../../base/common/clock.js').Clock} dependencies.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
   */
  constructor ({ enabled, directory, memory, metrics, log, clock, random }) {
    this.#enabled = enabled
    this.#directory = directory
    this.#memory = memory
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
    this.#random = random
    this.#logLimit = new LogLimit({ clock })
    metrics.overloaded.set(0)
  }

  start () {
    if (!this.#enabled) return
    this.#last = this.#clock.monotonic()
    this.#timer = this.#clock.every(TICK, () => this.#check())
  }

  stop () { this.#timer?.stop() }

  /** Whether new clients are refused. */
  get active () { return this.#cause !== undefined }

  /** @returns {string[]} for the readiness report */
  warnings () {
    return this.#cause === undefined
      ? []
      : [`overloaded (${this.#cause === 'lag' ? 'event loop' : 'memory'}): new clients are refused`]
  }

  #check () {
    const now = this.#clock.monotonic()
    this.#lags = [...this.#lags, Math.max(0, now - this.#last - TICK)].slice(-CHECKS)
    this.#last = now
    const lag = this.#lags.length < CHECKS ? 0 : [...this.#lags].sort((a, b) => a - b)[Math.floor(CHECKS / 2)]
    const used = this.#memory()
    if (this.#cause === undefined) {
      if (lag > MAX_LAG) this.#begin('lag', now)
      else if (used > MEMORY.full) this.#begin('memory', now)
    } else if (lag > MAX_LAG || used > MEMORY.full) {
      this.#calmSince = undefined
      if (now - this.#since >= PATIENCE) this.#shed()
    } else if (lag < MAX_LAG / 2 && used < MEMORY.calm) {
      this.#calmSince ??= now
      if (now - this.#calmSince >= PATIENCE) this.#end()
    } else this.#calmSince = undefined
  }

  /** @param {'lag' | 'memory'} reason @param {number} now */
  #begin (reason, now) {
    this.#cause = reason
    this.#since = now
    this.#calmSince = undefined
    this.#metrics.overloaded.set(1)
    if (this.#logLimit.due())
      this.#log.warn({ reason, lagMs: Math.round(this.#lags.at(-1) ?? 0), memory: Number(this.#memory().toFixed(2)) },
        'overloaded: new clients are refused, and anonymous clients sent away if that is not enough; add workers or machines')
  }

  #end () {
    this.#cause = undefined
    this.#metrics.overloaded.set(0)
    this.#log.info('no longer overloaded: new clients are accepted again')
  }

  #shed () {
    let count = Math.ceil(this.#directory.size * SHED)
    for (const withDocuments of [false, true]) {
      for (const connection of this.#directory.all()) {
        if (count === 0) return
        if (!connection.identity.anonymous || (connection.documentCount > 0) !== withDocuments) continue
        count--
        connection.disconnect('overloaded', Math.round(EARLIEST + this.#random.number() * (LATEST - EARLIEST)))
        this.#metrics.connections_shed.inc()
      }
    }
  }
}

/**
 * The fuller one of two: V8's heap, and this worker's part of the memory of its container or machine.
 * @param {number} workers gateway workers that share the memory
 * @returns {() => number} used share, 0 to 1 and more
 */
export function createMemoryMeter (workers) {
  const part = memoryLimit() / workers
  return () => {
    const { used_heap_size: heap, heap_size_limit: heapLimit } = v8.getHeapStatistics()
    return Math.max(heap / heapLimit, process.memoryUsage.rss() / part)
  }
}

import v8 from 'node:v8'
import { LogLimit } from '../../base/common/log-limit.js'
import { memoryLimit } from '../../base/machine/memory.js'

/**
 * Protects a worker that has more work than it can do, because of its event loop or its memory: first it refuses
 * new clients; when that is not enough it sends anonymous clients away, some at a time, those without an open document
 * first. Clients with a token stay.
 *
 * Why: docs/decisions/0051-many-clients-at-once.md
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

/** @typedef {ReturnType<typeof createOverload>} Overload */

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
export function createOverload ({ enabled, directory, memory, metrics, log, clock, random }) {
  /** Delays of the last checks, ms. @type {number[]} */
  let lags = []
  /** @type {'lag' | 'memory' | undefined} */
  let cause
  let since = 0
  /** Since when it has been calm, while new clients are refused. @type {number | undefined} */
  let calmSince
  let last = 0
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  const logLimit = new LogLimit({ clock })

  metrics.overloaded.set(0)

  function check () {
    const now = clock.monotonic()
    lags = [...lags, Math.max(0, now - last - TICK)].slice(-CHECKS)
    last = now
    const lag = lags.length < CHECKS ? 0 : [...lags].sort((a, b) => a - b)[Math.floor(CHECKS / 2)]
    const used = memory()
    if (cause === undefined) {
      if (lag > MAX_LAG) begin('lag', now)
      else if (used > MEMORY.full) begin('memory', now)
      return
    }
    if (lag > MAX_LAG || used > MEMORY.full) {
      calmSince = undefined
      if (now - since >= PATIENCE) shed()
    } else if (lag < MAX_LAG / 2 && used < MEMORY.calm) {
      calmSince ??= now
      if (now - calmSince >= PATIENCE) end()
    } else calmSince = undefined
  }

  /** @param {'lag' | 'memory'} reason @param {number} now */
  function begin (reason, now) {
    cause = reason
    since = now
    calmSince = undefined
    metrics.overloaded.set(1)
    if (logLimit.due())
      log.warn({ reason, lagMs: Math.round(lags.at(-1) ?? 0), memory: Number(memory().toFixed(2)) },
        'overloaded: new clients are refused, and anonymous clients sent away if that is not enough; add workers or machines')
  }

  function end () {
    cause = undefined
    metrics.overloaded.set(0)
    log.info('no longer overloaded: new clients are accepted again')
  }

  function shed () {
    let count = Math.ceil(directory.size * SHED)
    for (const withDocuments of [false, true]) {
      for (const connection of directory.all()) {
        if (count === 0) return
        if (!connection.identity.anonymous || (connection.documentCount > 0) !== withDocuments) continue
        count--
        connection.disconnect('overloaded', Math.round(EARLIEST + random.number() * (LATEST - EARLIEST)))
        metrics.connections_shed.inc()
      }
    }
  }

  return {
    /** Whether new clients are refused. */
    get active () { return cause !== undefined },

    /** @returns {string[]} for the readiness report */
    warnings: () => cause === undefined
      ? []
      : [`overloaded (${cause === 'lag' ? 'event loop' : 'memory'}): new clients are refused`],

    start () {
      if (!enabled) return
      last = clock.monotonic()
      timer = clock.every(TICK, check)
    },
    stop () { timer?.stop() }
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

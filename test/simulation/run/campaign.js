import { SeedRunner } from './seed-runner.js'

/**
 * @typedef {import('./seed-process.js').Job} Job
 * @typedef {import('./seed-process.js').SeedResult} SeedResult
 *
 * @typedef {object} Failure
 * @property {Job} job
 * @property {SeedResult} result
 */

/** Sum of what seeds gave. */
export class Totals {
  seeds = 0
  violations = 0
  /** Virtual time. */
  seconds = 0
  turns = 0
  /** CPU time of all processes, s. */
  cpuSeconds = 0
  /** Faults made and things checked. @type {Map<string, number>} */
  counts = new Map()

  /** @param {SeedResult} result */
  add ({ violations, seconds, turns, cpuMs, counts }) {
    this.seeds++
    this.violations += violations.length
    this.seconds += seconds
    this.turns += turns
    this.cpuSeconds += cpuMs / 1000
    for (const [name, count] of Object.entries(counts)) this.counts.set(name, (this.counts.get(name) ?? 0) + count)
  }

  /** Virtual seconds per second of CPU time. */
  get speed () { return this.cpuSeconds === 0 ? 0 : this.seconds / this.cpuSeconds }
}

/**
 * Runs many seeds, a few at a time, each in a process that does nothing else.
 *
 * @param {object} options
 * @param {Iterable<Job>} options.jobs
 * @param {number} options.processes
 * @param {boolean} options.keepGoing after a seed that failed
 * @param {Totals} options.totals is added to
 * @param {(failure: Failure) => void} options.onFailure
 * @param {AbortSignal} options.signal aborted: no further seed begins
 * @param {() => SeedRunner} [options.createRunner]
 * @returns {Promise<Failure[]>}
 */
export async function runSeeds ({
  jobs, processes, keepGoing, totals, onFailure, signal, createRunner = () => new SeedRunner()
}) {
  const waiting = jobs[Symbol.iterator]()
  /** @type {Failure[]} */
  const failures = []
  await Promise.all(Array.from({ length: processes }, async () => {
    const runner = createRunner()
    try {
      while (!signal.aborted && (keepGoing || failures.length === 0)) {
        const { value: job, done } = waiting.next()
        if (done) return
        const result = await runner.run(job)
        // a signal to the whole process group: the seed has broken nothing
        if (signal.aborted && result.stopped) return
        totals.add(result)
        if (result.violations.length === 0) continue
        failures.push({ job, result })
        onFailure({ job, result })
      }
    } finally {
      await runner.stop()
    }
  }))
  return failures
}

/**
 * @param {import('./options.js').Options} options
 * @param {readonly import('../named-seeds.js').NamedSeed[]} named
 * @returns {Generator<Job>} each seed once
 */
export function* jobsOf ({ seeds, scenario, named: withNamed, without, lines, checked }, named) {
  const first = withNamed ? named : []
  for (const each of first) yield { seed: each.seed, scenario: each.scenario, checked }
  const done = new Set(first.filter((each) => each.scenario === scenario).map(({ seed }) => seed))
  for (const { from, to } of seeds)
    for (let seed = from; seed <= to; seed++) if (!done.has(seed)) yield { seed, scenario, without, lines, checked }
}

/** @param {import('./options.js').Options} options @param {number} named @returns {number} how many at most */
export const seedsIn = ({ seeds, named: withNamed }, named) =>
  seeds.reduce((sum, { from, to }) => sum + to - from + 1, withNamed ? named : 0)

/**
 * A process of its own that runs seeds, one after the other (seed-runner.js starts it). Between two messages of the
 * runner nothing but the world of a seed runs in it.
 *
 * @typedef {object} Job
 * @property {number} seed
 * @property {string} scenario
 * @property {import('./options.js').Without} [without]
 * @property {boolean} [lines] the result has the lines and the story of the trace
 * @property {boolean} [checked] in the checking mode of the world (world/checks.js)
 *
 * @typedef {object} SeedResult what a seed gave, as plain data
 * @property {number} seed
 * @property {string} hash
 * @property {string[]} violations
 * @property {Record<string, number>} counts
 * @property {number} seconds of virtual time
 * @property {number} turns
 * @property {boolean} [stopped] a signal stopped its process before it had a result
 * @property {number} wallMs
 * @property {number} cpuMs of all threads, so without the time in which other programs had the core
 * @property {string[]} plan the schedule in words
 * @property {string[]} [lines]
 * @property {import('../world/trace.js').Story} [story]
 */
import '../world/patched-time.js'
import '../world/patched-net.js'
import { currentWorld } from '../world/now.js'
import { real } from '../world/real.js'

/** Interval of signs of progress, ms. */
const BEAT = 5000

// a test of the runner names a module of its own
const { runSeed } = await import(process.argv[2] ?? new URL('../scenario.js', import.meta.url).href)

process.on('disconnect', () => process.exit())
process.on('message', async (/** @type {Job} */ job) => {
  const answer = await run(job)
  process.send?.(answer)
})

/** @param {Job} job @returns {Promise<{ result: SeedResult } | { error: string }>} */
async function run ({ seed, scenario, without = {}, lines = false, checked = false }) {
  let turns = 0
  const beat = real.setInterval(() => {
    const now = currentWorld()?.turns ?? 0
    if (now !== turns) process.send?.({ turns: turns = now })
  }, BEAT)
  try {
    const begin = process.cpuUsage()
    const { trace, ...result } = await runSeed(seed, {
      scenario, lines, checked, without: { ...without, faults: new Set(without.faults) }
    })
    const { user, system } = process.cpuUsage(begin)
    const told = lines ? { lines: trace.lines, story: trace.story } : {}
    return { result: { ...result, cpuMs: (user + system) / 1000, ...told } }
  } catch (error) {
    return { error: error instanceof Error ? `${error.stack}` : String(error) }
  } finally {
    real.clearInterval(beat)
  }
}

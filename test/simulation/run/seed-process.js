/**
 * A process of its own that runs seeds, one after the other (seed-runner.js starts it). Between two messages of the
 * runner nothing but the world of a seed runs in it.
 *
 * @typedef {object} Job
 * @property {number} seed
 * @property {string} scenario
 * @property {import('./options.js').Without} [without]
 * @property {boolean} [lines] the result has the lines and the story of the trace
 *
 * @typedef {object} SeedResult what a seed gave, as plain data
 * @property {number} seed
 * @property {string} hash
 * @property {string[]} violations
 * @property {Record<string, number>} counts
 * @property {number} seconds of virtual time
 * @property {number} turns
 * @property {number} wallMs
 * @property {string[]} plan the schedule in words
 * @property {string[]} [lines]
 * @property {import('../world/trace.js').Story} [story]
 */
import '../world/patched-time.js'
import '../world/patched-net.js'

// a test of the runner names a module of its own
const { runSeed } = await import(process.argv[2] ?? new URL('../scenario.js', import.meta.url).href)

process.on('disconnect', () => process.exit())
process.on('message', async (/** @type {Job} */ job) => {
  const answer = await run(job)
  process.send?.(answer)
})

/** @param {Job} job @returns {Promise<{ result: SeedResult } | { error: string }>} */
async function run ({ seed, scenario, without = {}, lines = false }) {
  try {
    const { trace, ...result } = await runSeed(seed, {
      scenario, lines, without: { ...without, faults: new Set(without.faults) }
    })
    return { result: { ...result, ...lines ? { lines: trace.lines, story: trace.story } : {} } }
  } catch (error) {
    return { error: error instanceof Error ? `${error.stack}` : String(error) }
  }
}

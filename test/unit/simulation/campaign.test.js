import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { jobsOf, runSeeds, seedsIn, Totals } from '../../simulation/run/campaign.js'
import { readOptions } from '../../simulation/run/options.js'
import { repeating } from '../../simulation/run/report.js'
import { SeedRunner } from '../../simulation/run/seed-runner.js'

/** A scenario in which some seeds fail, each in its own way. */
const SCENARIOS = `
export async function runSeed (seed, { lines, scenario, without }) {
  if (seed === 3) throw new Error('this seed throws')
  if (seed === 4) process.exit(7)
  if (seed === 5) for (;;);
  if (seed === 6) process.kill(process.pid, 'SIGSEGV')
  return {
    seed, hash: 'h' + seed, violations: seed === 7 ? ['1.0 ms: a promise'] : [], counts: { faults: seed, pid: 1 }, seconds: 30, turns: 10,
    wallMs: 1000, plan: [scenario, [...without.faults].join()], trace: { lines: ['a line'], story: { events: [] } }
  }
}`

/** @param {import('node:test').TestContext} t @param {number} [patience] */
function runnerOf (t, patience = 20_000) {
  const directory = makeDirectory('simulation')
  writeFileSync(join(directory, 'scenarios.mjs'), SCENARIOS)
  const module = pathToFileURL(join(directory, 'scenarios.mjs')).href
  /** @type {SeedRunner[]} */
  const runners = []
  t.after(async () => {
    for (const runner of runners) await runner.stop()
    removeDirectory(directory)
  })
  return () => {
    const runner = new SeedRunner({ patience, module })
    runners.push(runner)
    return runner
  }
}

/** @param {number} from @param {number} to */
const jobs = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => ({ seed: from + i, scenario: 'default' }))

/** @param {Partial<Parameters<typeof runSeeds>[0]>} options */
async function runAll (options) {
  const totals = new Totals()
  const failures = await runSeeds({
    jobs: [], processes: 2, keepGoing: false, totals, onFailure () {}, signal: new AbortController().signal, ...options
  })
  return { totals, failures }
}

describe('many seeds', () => {
  test('results of several processes are summed', async (t) => {
    const { totals, failures } = await runAll({ jobs: jobs(10, 14), createRunner: runnerOf(t) })
    assert.deepEqual(failures, [])
    assert.deepEqual(Object.fromEntries(totals.counts), { faults: 60, pid: 5 })
    assert.deepEqual([totals.seeds, totals.seconds, totals.turns], [5, 150, 50])
  })

  test('a seed that throws, that ends its process or that never ends has failed, and the others go on', async (t) => {
    const createRunner = runnerOf(t, 1500)
    const { totals, failures } = await runAll({ jobs: jobs(1, 8), processes: 1, keepGoing: true, createRunner })
    assert.equal(totals.seeds, 8)
    const found = failures.map(({ job, result }) => `${job.seed}: ${result.violations[0].split('\n')[0]}`)
    assert.deepEqual(found, [
      '3: the scenario throws Error: this seed throws', '4: the process of the seed ended: exit code 7',
      '5: the seed made no progress for 1.5 s', '6: the process of the seed ended: SIGSEGV', '7: 1.0 ms: a promise'
    ])
  })

  test('a seed whose process was stopped by a signal has failed, unless the whole run was stopped', async () => {
    for (const isInterrupted of [false, true]) {
      const interruption = new AbortController()
      const { totals, failures } = await runAll({
        jobs: jobs(1, 3),
        processes: 1,
        signal: interruption.signal,
        createRunner: () => /** @type {any} */ ({
          async run ({ seed = 0 }) {
            if (isInterrupted) interruption.abort()
            return { seed, violations: ['SIGTERM'], stopped: true, counts: {}, seconds: 0, turns: 0, cpuMs: 0 }
          },
          async stop () {}
        })
      })
      assert.deepEqual([totals.seeds, failures.length], isInterrupted ? [0, 0] : [1, 1])
    }
  })

  test('no seed begins after one that failed, unless they should go on', async (t) => {
    const { totals } = await runAll({ jobs: jobs(7, 20), processes: 1, createRunner: runnerOf(t) })
    assert.equal(totals.seeds, 1)
  })

  test('no seed begins after an interruption', async (t) => {
    const { totals } = await runAll({ jobs: jobs(10, 20), signal: AbortSignal.abort(), createRunner: runnerOf(t) })
    assert.equal(totals.seeds, 0)
  })

  test('a job says what is left out, and whether the lines are wanted', async (t) => {
    const runner = runnerOf(t)()
    const quiet = await runner.run({ seed: 1, scenario: 'calm', without: { faults: [2, 3] } })
    assert.deepEqual([quiet.plan, quiet.lines, quiet.story], [['calm', '2,3'], undefined, undefined])
    const loud = await runner.run({ seed: 1, scenario: 'calm', lines: true })
    assert.deepEqual([loud.lines, loud.story], [['a line'], { events: [] }])
  })

  test('each run begins with the named seeds, and runs no seed twice', () => {
    const named = [{ seed: 2, scenario: 'default', found: '' }, { seed: 3, scenario: 'calm', found: '' }]
    const options = readOptions(['--seeds', '1..3'])
    assert.ok(options)
    assert.deepEqual([...jobsOf(options, named)].map(({ seed, scenario }) => `${scenario} ${seed}`),
      ['default 2', 'calm 3', 'default 1', 'default 3'])
    assert.equal(seedsIn(options, named.length), 5)
    const one = readOptions(['--seed', '9'])
    assert.ok(one)
    assert.deepEqual([...jobsOf(one, named)].map(({ seed }) => seed), [9])
  })

  test('the command that repeats a seed is read as the same job', () => {
    const job = { seed: 4711, scenario: 'calm', without: { faults: [1, 2, 7], clients: 2 }, lines: false, checked: false }
    const options = readOptions(repeating(job).split(' -- ')[1].split(' '))
    assert.ok(options)
    assert.deepEqual([...jobsOf(options, [])], [job])
  })
})

#!/usr/bin/env node
/**
 * Can the simulation find anything? Breaks inkcast in one way after the other, in a copy of the project, and runs seeds
 * until one fails (docs/internals/simulation.md):
 *
 *   node scripts/mutations.js                    the patches of test/simulation/mutations
 *   node scripts/mutations.js --machine 100      changes made by machine: negated conditions, dropped statements
 *   node scripts/mutations.js --seeds 1000       most seeds of each (300)
 *   node scripts/mutations.js --only TEXT        those whose names contain it
 *   node scripts/mutations.js --from 20 --to 39  a part of them, counted from 0
 *   node scripts/mutations.js --processes 2
 *
 * A patch may name the scenario whose seeds look for it: `# scenario: rights` in its second line. Seeds that look for a
 * change made by machine take turns in several scenarios.
 *
 * Exit code: 0 each one was found, 1 not each one, 2 wrong arguments.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { machineMutants, patchMutants } from '../test/simulation/run/mutants.js'
import { SeedRunner } from '../test/simulation/run/seed-runner.js'

const ROOT = path.resolve(import.meta.dirname, '..')
/** Seeds of mutants: others than those of the tests. */
const FIRST_SEED = 1_000_001
/** Scenarios of changes made by machine, one after the other. */
const SCENARIOS = ['default', 'rights', 'kafka', 'shards']
/** Decides which changes are drawn. */
const DRAW = 34

/** A copy of the project that is broken in one way at a time. Files are links, so a changed one is written again. */
class Copy {
  #folder = mkdtempSync(path.join(os.tmpdir(), 'inkcast-mutant-'))

  constructor () {
    for (const name of readdirSync(ROOT))
      if (!name.startsWith('.')) execFileSync('cp', ['-al', path.join(ROOT, name), this.#folder])
  }

  get program () { return path.join(this.#folder, 'test/simulation/run/seed-process.js') }

  /** @param {import('../test/simulation/run/mutants.js').Mutant} mutant @returns {() => void} mends it again */
  break ({ patch, file, from = 0, to = 0, by = '' }) {
    if (patch !== undefined) {
      const apply = (/** @type {string[]} */ ...more) =>
        execFileSync('git', ['apply', '--whitespace=nowarn', ...more, patch], { cwd: this.#folder })
      apply()
      return () => apply('--reverse')
    }
    if (file === undefined) return () => {}
    const at = path.join(this.#folder, file)
    const text = readFileSync(at, 'utf8')
    const write = (/** @type {string} */ content) => {
      unlinkSync(at)
      writeFileSync(at, content)
    }
    write(`${text.slice(0, from)}${by}${text.slice(to)}`)
    return () => write(text)
  }

  remove () { rmSync(this.#folder, { recursive: true, force: true }) }
}

/**
 * @param {Copy} copy
 * @param {import('../test/simulation/run/mutants.js').Mutant} mutant
 * @param {number} most
 * @returns {Promise<{ mutant: typeof mutant, seeds: number, found?: string }>}
 */
async function hunt (copy, mutant, most) {
  const mend = copy.break(mutant)
  const scenarios = mutant.patch === undefined ? SCENARIOS : [mutant.scenario ?? 'default']
  const runner = new SeedRunner({ program: copy.program })
  try {
    for (let i = 0; i < most; i++) {
      const scenario = scenarios[i % scenarios.length]
      const { violations: [found] } = await runner.run({ seed: FIRST_SEED + i, scenario })
      if (found !== undefined) return { mutant, seeds: i + 1, found }
    }
    return { mutant, seeds: most }
  } finally {
    await runner.stop()
    mend()
  }
}

/** @param {Awaited<ReturnType<typeof hunt>>} result @returns {string} its row of a table */
function rowOf ({ mutant, seeds, found }) {
  const cell = (/** @type {string} */ text) => text.split('\n')[0].replaceAll('|', '\\|').slice(0, 120)
  const sentence = found?.replace(/^[\d.]+ ms: /, '')
  return `| ${cell(mutant.name)} | ${found === undefined ? `not in ${seeds}` : seeds} | ${cell(sentence ?? '')} |`
}

async function main () {
  const { values } = parseArgs({
    options: {
      machine: { type: 'string' }, seeds: { type: 'string', default: '300' }, only: { type: 'string', default: '' },
      from: { type: 'string', default: '0' }, to: { type: 'string', default: 'Infinity' },
      processes: { type: 'string', default: String(os.availableParallelism()) }
    }
  })
  const all = values.machine === undefined ? patchMutants(ROOT) : machineMutants(ROOT, Number(values.machine), DRAW)
  const mutants = all
    .filter(({ name, patch }) => name.includes(values.only) || patch?.includes(values.only))
    .slice(Number(values.from), Number(values.to) + 1)
  const waiting = [...mutants]
  /** @type {Awaited<ReturnType<typeof hunt>>[]} */
  const results = []
  const work = async () => {
    const copy = new Copy()
    try {
      const { found } = await hunt(copy, { name: 'nothing' }, 1)
      if (found !== undefined) throw new Error(`the copy fails before it is broken: ${found}`)
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const result = await hunt(copy, mutant, Number(values.seeds))
        results.push(result)
        console.log(rowOf(result))
      }
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: Number(values.processes) }, work))
  const found = results.filter((result) => result.found !== undefined).length
  console.log(`${found} of ${results.length} found`)
  return found === results.length ? 0 : 1
}

process.exitCode = await main()

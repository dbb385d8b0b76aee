import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SeededRandom } from '../../simulation/world/random.js'

const PROGRAM = fileURLToPath(new URL('../../simulation/run/seed-process.js', import.meta.url))
/** REPEATS=50 plays more seeds. */
const SEEDS = Array.from({ length: Number(process.env.REPEATS ?? 4) }, (_, i) => i + 1)
/** Small worlds. */
const SMALL = { clients: 2, duration: 1000 }
const scenarioOf = (/** @type {number} */ seed) => ['kafka', 'rights', 'calm', 'shards'][seed % 4]

/** Violations of the rules of worlds. Other tests are about those of promises. */
const RULES = /beside the world|in a turn of|earlier world|uses a file|of nobody|uses the clock|to a connection of/

/**
 * Plays seeds in a process of their own, one after the other.
 * @param {import('node:test').TestContext} t
 * @param {{ seed: number, checked?: boolean }[]} jobs
 * @returns {Promise<string[]>} the hashes of their traces
 */
async function play (t, jobs) {
  const child = fork(PROGRAM, { signal: t.signal })
  child.on('error', () => {})
  const hashes = []
  for (const job of jobs) {
    child.send({ scenario: scenarioOf(job.seed), without: SMALL, ...job })
    const { error, result } = await answerOf(child)
    assert.equal(error, undefined)
    assert.deepEqual(result.violations.filter((/** @type {string} */ text) => RULES.test(text)), [], `seed ${job.seed}`)
    hashes.push(`${result.hash} after ${result.turns} turns`)
  }
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
  return hashes
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<any>} what is no sign of life */
async function answerOf (child) {
  for (;;) {
    const [message] = await once(child, 'message')
    if (message.turns === undefined) return message
  }
}

test('a seed gives the same trace in a fresh process, behind other seeds in any order, and while it is checked', async (t) => {
  const random = new SeededRandom(34)
  const shuffled = SEEDS.map((seed) => ({ seed, at: random.number() }))
    .sort((a, b) => a.at - b.at).map(({ seed }) => seed)
  // the first seed of each process is in a fresh one, and the last one of the other
  const [together, checked] = await Promise.all([
    play(t, shuffled.map((seed) => ({ seed }))),
    play(t, shuffled.map((seed, i) => ({ seed, checked: seed % 2 === 0 && i < SEEDS.length - 1 })).reverse())
  ])
  assert.deepEqual(checked.reverse(), together, `seeds ${shuffled}, in both orders`)
  assert.equal(new Set(together).size, SEEDS.length)
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createMemoryAtRest, REST } from '../../../src/base/process/memory-at-rest.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** Interval at which the process is looked at, ms. */
const WINDOW = 6000

/**
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {number} [options.rest] share of a core
 * @param {() => boolean} [options.isGrown]
 * @returns {(share: number) => number} lets a window pass in which this share of a core was used, returns the
 *   collections so far
 */
function observe (t, { rest, isGrown = () => false } = {}) {
  const clock = manualClock()
  let cpuMs = 5000
  let collections = 0
  const memory = createMemoryAtRest({
    clock: { ...clock, cpu: () => cpuMs },
    rest,
    isGrown,
    collect () {
      collections++
      cpuMs += 900 // a large heap
    }
  })
  memory.start()
  t.after(() => memory.stop())
  return (share) => {
    cpuMs += share * WINDOW
    clock.advance(WINDOW)
    return collections
  }
}

test('a process that rests collects garbage twice, and its own collections are no work', (t) => {
  const after = observe(t)
  assert.deepEqual([0.005, 0.005, 0.005, 0.005].map(after), [1, 2, 2, 2])
})

test('a process that works collects nothing, and again twice when it rests', (t) => {
  const after = observe(t)
  assert.deepEqual([0.5, 0.11, 0.5].map(after), [0, 0, 0])
  assert.deepEqual([0.01, 0.01, 0.01].map(after), [1, 2, 2])
  assert.deepEqual([0.3, 0.01, 0.01, 0.01].map(after), [2, 3, 4, 4])
})

test('a little work collects nothing, and does not end the rest', (t) => {
  const after = observe(t)
  assert.deepEqual([0.05, 0.05].map(after), [0, 0])
  assert.deepEqual([0.01, 0.05, 0.01, 0.05, 0.01].map(after), [1, 1, 2, 2, 2])
})

test('a process without clients may work a little more at rest', (t) => {
  const after = observe(t, { rest: REST.without })
  assert.deepEqual([0.06, 0.04, 0.04, 0.04].map(after), [0, 1, 2, 2])
})

test('a process whose young generation has not shrunk collects again, a few times', (t) => {
  let grown = true
  const shrinks = observe(t, { isGrown: () => grown })
  assert.deepEqual([0.01, 0.01, 0.01].map(shrinks), [1, 2, 3])
  grown = false
  assert.deepEqual([0.01, 0.01].map(shrinks), [3, 3])
  const never = observe(t, { isGrown: () => true })
  assert.deepEqual([0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01].map(never), [1, 2, 3, 4, 5, 5, 5])
})

test('the young generation of a real process is small again after its start', { timeout: 30_000 }, async () => {
  const module = new URL('../../../src/base/process/memory-at-rest.js', import.meta.url).href
  const clock = new URL('../../../src/base/common/clock.js', import.meta.url).href
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { createMemoryAtRest } from '${module}'
    import { systemClock } from '${clock}'
    const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20
    let kept = []
    for (let i = 0; i < 300_000; i++) {
      kept.push({ i, more: [i] })
      if (kept.length > 100_000) kept = kept.slice(50_000)
    }
    const sizes = [young()]
    kept = []
    createMemoryAtRest({ clock: systemClock }).start()
    const look = setInterval(() => {
      if (young() > 2) return
      console.log(JSON.stringify([...sizes, young()]))
      clearInterval(look)
    }, 100)
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  const [before] = JSON.parse(stdout)
  assert.ok(before >= 8, `it had grown to ${before} MB`)
})

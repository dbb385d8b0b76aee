import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { kindOf, minimal, shrink } from '../../simulation/run/shrink.js'

/** @typedef {import('../../simulation/run/options.js').Without} Without */

const PLAN = Array.from({ length: 12 }, (_, i) => `${i}: at ${i}.000 s a fault`)

/**
 * A seed that fails under a condition.
 * @param {(world: Required<Without>) => string | undefined} violationOf faults: those that are not left out
 */
function seedThat (violationOf) {
  const runs = /** @type {Without[]} */ ([])
  const run = async (/** @type {Without} */ without) => {
    runs.push(without)
    const faults = PLAN.map((_, i) => i).filter((i) => !without.faults?.includes(i))
    const { clients = 8, documents = 3, records = 100, duration = 30_000 } = without
    const violation = violationOf({ faults, clients: Math.min(clients, 8), documents, records, duration })
    return {
      seed: 1, hash: '', violations: violation === undefined ? [] : [violation], counts: {}, turns: 0, wallMs: 0, cpuMs: 0,
      seconds: duration / 1000, plan: faults.map((i) => PLAN[i])
    }
  }
  return { runs, run }
}

describe('shrinking', () => {
  test('only the faults, clients, documents, records and time remain that the violation needs', async () => {
    const { run, runs } = seedThat(({ faults, clients, documents, records, duration }) =>
      faults.includes(3) && faults.includes(9) && clients >= 2 && documents >= 1 && records >= 3 && duration >= 9000
        ? '8000.0 ms: page-4 has record 24 of doc-1, and not 43'
        : undefined)
    const { without, result, runs: count } = await shrink({ failed: await run({}), run })
    const faults = [0, 1, 2, 4, 5, 6, 7, 8, 10, 11]
    assert.deepEqual(without, { faults, clients: 2, documents: 1, records: 3, duration: 9000 })
    assert.deepEqual(result.plan, [PLAN[3], PLAN[9]])
    assert.equal(count, runs.length - 1)
  })

  test('another violation is not the one that is searched', async () => {
    const { run } = seedThat(({ faults }) => faults.length === 12 ? '1.0 ms: a record is missing' : '1.0 ms: a record came twice')
    const { without, result } = await shrink({ failed: await run({}), run })
    assert.equal(without.faults, undefined)
    assert.deepEqual(result.violations, ['1.0 ms: a record is missing'])
  })

  test('what is left out from the beginning stays left out', async () => {
    const { run } = seedThat(({ faults }) => faults.includes(5) ? '1 ms: no' : undefined)
    const first = { faults: [1, 2], clients: 4 }
    const { without } = await shrink({ failed: await run(first), without: first, run })
    assert.deepEqual(without.faults?.toSorted((a, b) => a - b), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
    assert.equal(without.clients, 1)
  })

  test('the search ends when it may take no longer', async () => {
    const { run } = seedThat(() => '1 ms: always')
    const { runs } = await shrink({ failed: await run({}), run, isOver: () => true })
    assert.equal(runs, 0)
  })

  test('the same promise with other numbers and ids is the same violation', () => {
    assert.equal(kindOf('206259.0 ms: page-6 has record 50 of doc-1, and not 67'), kindOf('1.5 ms: page-10 has record 1 of doc-2, and ' +
      'not 3'))
    assert.equal(
      kindOf('1.0 ms: session 1b4e28ba-2fa1-11d2-883f-0016d3cca427 twice'), kindOf('2.0 ms: session ' +
        '6fa459ea-ee8a-3ca4-894e-db77e160355e twice')
    )
    assert.equal(kindOf('1.0 ms: Error: no\n    at one.js'), kindOf('1.0 ms: Error: no\n    at two.js'))
    assert.notEqual(kindOf('1.0 ms: a record is missing'), kindOf('1.0 ms: a record came twice'))
  })

  test('every pair of twenty is found', async () => {
    const all = Array.from({ length: 20 }, (_, i) => i)
    let cases = 0
    for (const a of all) {
      for (const b of all.slice(a + 1)) {
        cases++
        assert.deepEqual(await minimal(all, async (kept) => kept.includes(a) && kept.includes(b)), [a, b])
      }
    }
    assert.equal(cases, 190)
  })

  test('nothing is needed by what fails always', async () => {
    assert.deepEqual(await minimal([1, 2, 3], async () => true), [])
    assert.deepEqual(await minimal([], async () => true), [])
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemsOf, resultTables } from '../../../bench/heartbeat/report.js'

/**
 * @param {Partial<import('../../../bench/heartbeat/round.js').RoundResult>} [result]
 * @returns {import('../../../bench/heartbeat/round.js').RoundResult}
 */
const round = (result) => ({
  kind: 'own timers, 25 s',
  opened: 100,
  failures: [],
  heapKb: 9,
  residentKb: 12,
  emptyCpu: 1,
  growingPingsPerSecond: 4,
  pingsPerSecond: 4,
  cpu: 3,
  lost: 0,
  foundAfter: { p50: 30_000, p99: 40_000, max: 44_000 },
  foundWithin: 45_000,
  burst: 90,
  burstMs: 100,
  burstCpuMs: 50,
  burstPerSecond: 900,
  burstDelayMs: 20,
  ...result
})
const good = {
  kind: 'wheel, 5 to 60 s',
  pingsPerSecond: 1.7,
  cpu: 1.5,
  foundAfter: { p50: 60_000, p99: 79_000, max: 79_999 },
  foundWithin: 80_000
}

test('a heartbeat with low costs that keeps living connections and detects dead ones in time passes', () => {
  assert.deepEqual(problemsOf([round(), round(good)]), [])
  assert.match(resultTables([round(), round(good)]), /wheel, 5 to 60 s .* 42\.5 %/)
})

test('each violated limit is reported', () => {
  for (const [bad, expected] of /** @type {[object, RegExp][]} */ ([
    [{ lost: 1 }, /1 living/],
    [{ cpu: 3.1 }, /2\.1 % of a core/],
    [{ foundAfter: { p50: 1, p99: 1, max: 80_001 } }, /80001 ms/],
    [{ pingsPerSecond: 1.9 }, /1\.9 pings per second/]
  ])) {
    const problems = problemsOf([round(), round({ ...good, ...bad })])
    assert.equal(problems.length, 1)
    assert.match(problems[0], expected)
  }
})

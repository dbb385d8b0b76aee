import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Histogram } from '../../../packages/load/histogram.js'
import { Samples } from '../../../packages/load/samples.js'
import { receiptsOf, usageOf } from '../../../packages/load/server-figures.js'
import { problemsOf } from '../../../packages/load/verdict.js'

test('quantiles are at most 4.5 % too high, also of histograms of several processes', () => {
  const [one, other, all] = [new Histogram(), new Histogram(), new Histogram()]
  for (let i = 1; i <= 10_000; i++) (i % 2 ? one : other).add(i / 10)
  all.merge(one.take())
  all.merge(structuredClone(other.take()))
  assert.equal(all.count, 10_000)
  for (const [share, exact] of [[0.5, 500], [0.99, 990], [0.001, 1]]) {
    const found = /** @type {number} */ (all.quantile(share))
    assert.ok(found >= exact && found <= exact * 1.045, `${share}: ${found}`)
  }
  assert.equal(all.quantile(1), 1000)
  assert.equal(all.max, 1000)
  assert.equal(one.quantile(0.5), null, 'taken')
})

/** @param {object} given @returns {import('../../../packages/load/process.js').Snapshot} */
const snapshot = (given) => ({
  seconds: 1, open: 0, opened: 0, reconnects: 0, left: 0, expired: 0, errors: {},
  counts: { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 },
  latencies: new Histogram().take(), handshakes: new Histogram().take(), ...given
})

test('samples add up the processes, and rates are per second', () => {
  const samples = new Samples()
  const counts = (/** @type {number} */ deliveries) => ({
    deliveries, doubled: 0, holes: 1, acknowledged: 0, cut: 0, unasked: 0
  })
  samples.add({ at: 1, phase: 'connect', usage: [], cpu: 3, snapshots: [snapshot({ open: 10, opened: 10 }), snapshot({})] })
  const latencies = new Histogram()
  latencies.add(8)
  const sample = samples.add({
    at: 3,
    phase: 'hold',
    cpu: 5,
    usage: [{ name: 'gateway-0', cores: 0.5, memory: 2 }, { name: 'api', cores: 0.25, memory: 3 }],
    snapshots: [
      snapshot({ seconds: 2, open: 9, counts: counts(100), latencies: latencies.take(), errors: { ECONNRESET: 2 } }),
      snapshot({ seconds: 2, open: 3, opened: 4, counts: counts(50) })
    ]
  })
  assert.equal(sample.connections, 12)
  assert.equal(sample.connectionsPerSecond, 2)
  assert.equal(sample.deliveriesPerSecond, 75)
  assert.equal(sample.holes, 2)
  assert.equal(sample.errors, 1)
  assert.equal(sample.max, 8)
  const summary = samples.summary()
  assert.deepEqual(summary.errors, { ECONNRESET: 2 })
  assert.equal(summary.opened, 14)
  assert.equal(summary.peakConnectionsPerSecond, 10)
  assert.equal(summary.peakCores, 0.75)
  assert.equal(summary.peakMemory, 5)
  assert.deepEqual(summary.phases, {
    connect: { cpu: 3, opened: 10, deliveries: 0 }, hold: { cpu: 2, opened: 4, deliveries: 150 }
  })
})

test('figures of the server: cores of each process, receipts of all workers', () => {
  assert.deepEqual(
    usageOf({ processes: [{ name: 'api', seconds: 5, values: { cpuSeconds: 1, memory: 7 } }] }),
    [{ name: 'api', cores: 0.2, memory: 7 }]
  )
  assert.deepEqual(
    usageOf({ processes: [{ name: 'api', seconds: 0, values: { cpuSeconds: 0, memory: 7 } }] }),
    [{ name: 'api', cores: 0, memory: 7 }]
  )
  assert.deepEqual(receiptsOf(`# TYPE inkcast_receipts_total counter
inkcast_receipts_total{process="gateway-0",result="acknowledged"} 3
inkcast_receipts_total{process="gateway-1",result="acknowledged"} 4
inkcast_receipts_total{process="gateway-1",result="missing"} 1
inkcast_receipts_pending{process="gateway-1"} 9
`), { acknowledged: 7, missing: 1 })
})

describe('a run is not whole', () => {
  const whole = {
    opened: 3,
    missing: { documents: 0, everyone: 0, closed: 0, surplus: 0 },
    counts: { deliveries: 9, doubled: 0, holes: 0, acknowledged: 9, cut: 0, unasked: 0 },
    failures: {},
    unconfirmed: 0,
    stillThere: 0
  }
  test('unless nothing is missing', () => assert.deepEqual(problemsOf(whole), []))
  for (const [given, problem] of /** @type {[object, RegExp][]} */ ([
    [{ opened: 0 }, /^no connection was opened$/],
    [{ missing: { documents: 1, everyone: 0, closed: 0, surplus: 0 } }, /^1 deliveries of records of documents are missing$/],
    [{ missing: { documents: 0, everyone: 1, closed: 0, surplus: 0 } }, /^1 deliveries of records to everyone are missing$/],
    [{ missing: { documents: 0, everyone: 0, closed: 1, surplus: 0 } }, /^1 clients are not connected/],
    [{ missing: { documents: 0, everyone: 0, closed: 0, surplus: 1 } }, /^1 deliveries are of records .* in a log twice$/],
    [{ counts: { ...whole.counts, holes: 1 } }, /^1 records of documents were skipped$/],
    [{ counts: { ...whole.counts, doubled: 1 } }, /^1 deliveries came twice$/],
    [{ counts: { ...whole.counts, unasked: 1 } }, /^1 deliveries lack the request for a receipt$/],
    [{ counts: { ...whole.counts, cut: 6 } }, /^6 deliveries of records to everyone were on their way when connections broke$/],
    [{ unconfirmed: 1 }, /^1 receipts are missing/],
    [{ stillThere: 1 }, /^1 silent clients were not removed$/],
    [{ failures: { '503 unavailable': 2 } }, /^publications failed: 2 × 503 unavailable$/]
  ])) {
    test(`with ${JSON.stringify(given)}`, () => {
      const problems = problemsOf({ ...whole, ...given })
      assert.equal(problems.length, 1)
      assert.match(problems[0], problem)
    })
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AggregatorRegistry, Histogram, Registry } from 'prom-client'
import { TalliedHistogram } from '../../../src/observe/metrics/tallied-histogram.js'

const BUCKETS = [0.5, 1, 4]

/**
 * @param {(registry: Registry, kind: 'stock' | 'tallied') => void} use
 * @returns {Promise<{ text: string, merged: string }[]>} output of prom-client's histogram and of inkcast's, for one
 *   process and merged over two
 */
const both = (use) =>
  Promise.all((/** @type {const} */ (['stock', 'tallied'])).map(async (kind) => {
    const registry = new Registry()
    use(registry, kind)
    const text = await registry.metrics()
    registry.setDefaultLabels({ role: 'gateway' })
    const json = await registry.getMetricsAsJSON()
    const two = JSON.parse(JSON.stringify([json, json]))
    return { text, merged: await AggregatorRegistry.aggregate(two).metrics() }
  }))

test('the output equals that of prom-client, with labels in either form and without', async () => {
  const [stock, tallied] = await both((registry, kind) => {
    const Kind = kind === 'stock' ? Histogram : TalliedHistogram
    const labeled = new Kind({
      name: 'stages',
      help: 'h',
      labelNames: ['stage'],
      buckets: BUCKETS,
      registers: [registry]
    })
    const [first, second] = [labeled.labels('first'), labeled.labels({ stage: 'second' })]
    for (const value of [0.1, 0.5, 0.51, 4, 5]) first.observe(value)
    second.observe(1)
    const plain = new Kind({ name: 'bytes', help: 'h', buckets: BUCKETS, registers: [registry] })
    for (const value of [0, 2, 100]) plain.observe(value)
    const silent = new Kind({ name: 'silent', help: 'h', labelNames: ['a'], buckets: BUCKETS, registers: [registry] })
    silent.labels('never')
  })
  assert.equal(tallied.text, stock.text)
  assert.equal(tallied.merged, stock.merged)
  assert.match(tallied.merged, /stages_bucket\{le="4",stage="first",role="gateway"\} 8/)
})

test('each output has all values so far', async () => {
  const registry = new Registry()
  const histogram = new TalliedHistogram({ name: 'bytes', help: 'h', buckets: BUCKETS, registers: [registry] })
  for (const expected of [1, 2, 3]) {
    histogram.observe(2)
    await registry.metrics()
    const text = await registry.metrics()
    for (const line of [`bytes_count ${expected}`, `bytes_sum ${2 * expected}`, `bytes_bucket{le="4"} ${expected}`])
      assert.ok(text.includes(line), text)
  }
})

test('a value other than a number is ignored', async () => {
  const registry = new Registry()
  const histogram = new TalliedHistogram({ name: 'bytes', help: 'h', buckets: BUCKETS, registers: [registry] })
  for (const value of [NaN, Infinity, 1]) histogram.observe(value)
  const text = await registry.metrics()
  assert.ok(text.includes('bytes_count 1\n') && text.includes('bytes_sum 1\n'), text)
})

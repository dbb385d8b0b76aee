import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { createEndedCounts } from '../../../src/operate/admin/ended-counts.js'

/** @typedef {import('../../../src/operate/admin/processes.js').Seen} Seen */

/** @param {string} id of a process */
function startProcess (id) {
  const registers = [new Registry()]
  const counter = new Counter({ name: 'handshakes_total', help: 'h', labelNames: ['result'], registers })
  const gauge = new Gauge({ name: 'connections', help: 'h', registers })
  const histogram = new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers })
  return {
    count (n = 1) {
      counter.inc({ result: 'ok' }, n)
      gauge.set(n)
      histogram.observe(1.5)
    },
    /** @returns {Promise<Seen>} */
    answers: async () => ({ id, name: id, notReady: [], metrics: await registers[0].getMetricsAsJSON() }),
    /** @returns {Promise<Seen>} */
    isSilent: async () => ({ id, name: id, notReady: ['does not answer'], metrics: [] })
  }
}

/** @param {ReturnType<typeof createEndedCounts>} counts @param {Promise<Seen>[]} answers */
async function merge (counts, answers) {
  const text = await AggregatorRegistry.aggregate(await counts.add(await Promise.all(answers))).metrics()
  const lines = text.split('\n')
  const value = (/** @type {string} */ series) =>
    Number(lines.find((line) => line.startsWith(`${series} `))?.split(' ')[1])
  return {
    handshakes: value('handshakes_total{result="ok"}'),
    observed: value('seconds_count'),
    below2: value('seconds_bucket{le="2"}'),
    connections: value('connections')
  }
}

test('counts of processes that have ended stay, and their gauges do not', async () => {
  const counts = createEndedCounts()
  const [a, b] = [startProcess('a'), startProcess('b')]
  a.count(5)
  b.count(7)
  const both = await merge(counts, [a.answers(), b.answers()])
  assert.deepEqual(both, { handshakes: 12, observed: 2, below2: 2, connections: 12 })
  assert.deepEqual(await merge(counts, [b.answers()]), { handshakes: 12, observed: 2, below2: 2, connections: 7 })
  const c = startProcess('c')
  c.count(1)
  assert.deepEqual(await merge(counts, [c.answers()]), { handshakes: 13, observed: 3, below2: 3, connections: 1 })
  assert.equal((await merge(counts, [c.answers()])).handshakes, 13, 'once')
})

test('a process that does not answer for a while counts once', async () => {
  const counts = createEndedCounts()
  const [a, b] = [startProcess('a'), startProcess('b')]
  a.count(5)
  b.count(7)
  await merge(counts, [a.answers(), b.answers()])
  assert.equal((await merge(counts, [a.isSilent(), b.answers()])).handshakes, 12)
  a.count(1)
  assert.equal((await merge(counts, [a.answers(), b.answers()])).handshakes, 13)
})

test('one that answers only after others have ended adds nothing twice', async () => {
  const counts = createEndedCounts()
  const [a, b] = [startProcess('a'), startProcess('b')]
  a.count(5)
  await merge(counts, [a.answers(), b.isSilent()])
  await merge(counts, [b.isSilent()])
  b.count(2)
  assert.equal((await merge(counts, [b.answers()])).handshakes, 7)
})

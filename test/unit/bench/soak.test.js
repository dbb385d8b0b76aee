import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultOrder, GENTLE } from '../../../bench/soak/faults.js'
import { keyGroup } from '../../../bench/soak/keys.js'
import { readMetrics } from '../../../bench/soak/measure.js'
import { growthOf, middle } from '../../../bench/soak/statistics.js'
import { judge } from '../../../bench/soak/verdict.js'
import { seededRandom } from '../../helpers/random.js'

const MINUTES = 50
const random = seededRandom(7)

/** @param {(at: number) => number} value @param {(at: number) => string} [owner] */
const points = (value, owner = () => 'a') =>
  Array.from({ length: MINUTES + 1 }, (_, at) => ({ at, value: value(at), owner: owner(at) }))

/** @param {number} share */
const noise = (share) => 1 + share * (random() - 0.5)

/** @param {ReturnType<typeof points>} given */
function growth (given) {
  const found = growthOf(given)
  assert.ok(found !== undefined)
  return found
}

describe('growth of a figure', () => {
  test('is exact for a line: percent of the median, over the whole time', () => {
    const { growth: percent, low, high, median } = growth(points((at) => 100 + at / 5))
    assert.deepEqual([percent, low, high].map((each) => each.toFixed(2)), ['9.52', '9.52', '9.52'])
    assert.equal(median, 105)
  })

  test('is near 0 for noise, and the interval contains 0', () => {
    const { growth: percent, low, high } = growth(points(() => 100 * noise(0.1)))
    assert.ok(Math.abs(percent) < 3, String(percent))
    assert.ok(low < 0 && high > 0, `${low} to ${high}`)
  })

  test('is found in noise: the interval contains the true value, and not 0', () => {
    const { low, high } = growth(points((at) => (100 + at / 5) * noise(0.04)))
    assert.ok(low > 0 && low < 9.52 && high > 9.52, `${low} to ${high}`)
  })

  test('is not changed by outliers: a fourth of the samples, all near the end', () => {
    const { growth: percent, low } = growth(points((at) => at > 36 && at < 49 ? 170 : 100 * noise(0.01)))
    assert.ok(percent < 1.5 && low <= 0, `${percent}, from ${low}`)
  })

  test('is not seen between processes: a new one begins at another level', () => {
    const owner = (/** @type {number} */ at) => String(Math.floor(at / 17))
    assert.equal(growth(points((at) => 100 + 50 * Math.floor(at / 17), owner)).growth, 0)
    assert.equal(growth(points((at) => 100 - 50 * Math.floor(at / 17) + at % 17, owner)).growth > 30, true)
  })

  test('is not known from three samples of each process', () => {
    assert.equal(growthOf(points(() => 1, (at) => String(Math.floor(at / 3)))), undefined)
    assert.equal(growthOf([]), undefined)
  })

  test('is 0 where there is nothing', () => assert.equal(growth(points(() => 0)).growth, 0))
})

test('the middle of an even number of values is between two of them', () => {
  assert.equal(middle([4, 1, 2, 100]), 3)
  assert.equal(middle([3, 1, 2]), 2)
})

describe('verdict', () => {
  const [LAUNCHER, WORKER, OTHER] = [10, 11, 12]
  /** @param {number} pid @param {string} role @param {number} heapUsed @param {number} descriptors */
  const reading = (pid, role, heapUsed, descriptors) => ({
    pid, role, heapUsed, descriptors,
    code: heapUsed / 5, heapTotal: heapUsed, resident: heapUsed, cpuMs: 0, external: 0, lag: 0
  })
  /**
   * @typedef {object} Change
   * @property {number} [heap]
   * @property {Record<string, number>} [keys]
   * @property {number} [lasting]
   * @property {number} [channels]
   * @property {number} [worker]
   * @property {number} [connections]
   *
   * @param {(at: number) => Change} change at: minutes; -1 before the clients came, 60 after they left
   */
  const samples = (change) => [-1, ...Array.from({ length: 50 }, (_, i) => i + 1), 60].map((at) => {
    const { heap = 40e6, keys = {}, lasting = 9, channels = 20, worker = WORKER, connections = 1000 } = change(at)
    return /** @type {import('../../../bench/soak/measure.js').Sample} */ ({
      at, phase: at < 0 ? 'empty' : at === 60 ? 'end' : 'load', connections,
      processes: [reading(LAUNCHER, 'launcher', 10e6, 30), reading(worker, 'gateway', heap, 1030)],
      keys: { 'worker users': 2, 'document log': 50, ...keys },
      redis: { memory: 1e6, clients: 9, channels, lasting }, gauges: {}, series: 800, lag: 0
    })
  })
  const WINDOW = { from: 10, to: 50, connections: 1000 }
  /** @param {Parameters<typeof samples>[0]} change */
  const problems = (change) => judge(samples(change), WINDOW).flatMap((row) => row.problems)

  test('passes where nothing grows, and also shows roles without a problem', () => {
    assert.deepEqual(problems(() => ({})), [])
    assert.deepEqual(judge(samples(() => ({})), WINDOW).map(({ name }) => name).slice(0, 3),
      ['heap, launcher', 'heap, gateway', 'compiled code in it, launcher'])
  })

  test('names the figure that grows by more than 1 %', () => {
    assert.match(
      problems((at) => ({ heap: 40e6 + (at > 0 && at < 60 ? at * 0.02e6 : 0) }))[0], /^heap, gateway: growth of 2.0 %.*limit 1 %$/
    )
    assert.deepEqual(problems((at) => ({ heap: 40e6 + (at > 0 && at < 60 ? at * 0.008e6 : 0) })), [])
    assert.match(problems((at) => ({ channels: 20 + (at < 60 ? Math.floor(at / 10) : 0) }))[0], /^subscriptions of Redis: growth/)
  })

  test('growth that noise may explain does not count', () => {
    const noisy = seededRandom(8)
    const heaps = Array.from({ length: 51 }, () => 40e6 + 8e6 * (noisy() - 0.5))
    const change = (/** @type {number} */ at) => ({ heap: heaps[at] ?? 40e6 })
    const found = judge(samples(change), WINDOW).find(({ name }) => name === 'heap, gateway')?.growth
    assert.ok(found !== undefined && found.growth > 1 && found.low < 0, JSON.stringify(found))
    assert.deepEqual(problems(change), [])
  })

  test('growth in the first ten minutes does not count', () => {
    assert.deepEqual(problems((at) => ({ heap: 40e6 + Math.min(at, 10) * 0.1e6 })), [])
  })

  test('growth in the first ten minutes of a process that replaced another does not count', () => {
    const found = (/** @type {number} */ settles) => judge(samples((at) =>
      at > 12 && at < 60 ? { worker: OTHER, heap: 20e6 + Math.min(at - 12, settles) * 1e6 } : {}
    ), { ...WINDOW, to: 30 }).flatMap((row) => row.problems)
    assert.deepEqual(found(10), [])
    assert.match(found(30)[0], /^heap, gateway: growth of/)
  })

  test('compiled code is shown, and has no limit of its own', () => {
    const rows = judge(samples((at) => at > 0 && at < 60 ? { heap: (40 + at) * 1e6 } : {}), WINDOW)
    const code = rows.find(({ name }) => name === 'compiled code in it, gateway')
    assert.ok(code?.growth !== undefined && code.growth.growth > 10, JSON.stringify(code))
    assert.deepEqual(code.problems, [])
  })

  test('samples without all clients do not count', () => {
    assert.deepEqual(problems((at) => at > 20 && at < 60 ? { connections: 999, heap: (40 + at) * 1e6 } : {}), [])
  })

  test('growth of the keys while the clients are there counts', () => {
    const keys = (/** @type {number} */ at) => ({ 'user workers': at > 0 && at < 60 ? 1000 + at : 0 })
    assert.match(problems((at) => ({ keys: keys(at) }))[0], /^keys of Redis: growth of/)
    const passing = (/** @type {number} */ at) => ({ 'document present:meta': at > 0 && at < 60 ? 200 + at : 0 })
    assert.deepEqual(problems((at) => ({ keys: passing(at) })), [], 'as many as were used in the last minute')
  })

  test('a worker that was replaced is no growth', () => {
    assert.deepEqual(problems((at) => at > 30 && at < 60 ? { worker: OTHER, heap: 60e6 } : {}), [])
  })

  test('what is left after the clients have gone counts', () => {
    const left = (/** @type {Record<string, number>} */ keys) => problems((at) => at === 60 ? { keys } : {})
    assert.match(left({ 'user held': 3 })[0], /^keys of Redis: 55 after all clients left, 52 before they came; user held: 3, 0 before$/)
    assert.match(left({ 'document present:meta': 3 })[0], /^keys of Redis: 55 after/)
    assert.deepEqual(left({ 'document meta': 4000, request: 9000 }), [], 'outlive their document by design')
    assert.deepEqual(left({ 'user workers': 500, 'worker present': 1, 'workers ended': 1 }), [],
      'of workers that were killed')
    assert.match(problems((at) => at === 60 ? { lasting: 10 } : {})[0], /never expire: 10 after/)
    assert.match(problems((at) => at === 60 ? { heap: 45e6 } : {})[0], /^heap, gateway: 45.00 MB after/)
  })
})

test('keys are grouped by what they are for, without the ids in them', () => {
  assert.deepEqual([
    'inkcast:{d:load-ab-1}:log', 'inkcast:{d:load-ab-1}:present:order', 'inkcast:{w:12}:users:12.1763000000000',
    'inkcast:{w:12}:users:12.1763000000000:documents', 'inkcast:{u:anonymous:x}:workers', 'inkcast:{r:abc}', 'inkcast:{workers}:expiry',
    'inkcast:{d:a}:queues:u1', 'inkcast:generation', 'foreign'
  ].map(keyGroup), [
    'document log', 'document present:order', 'worker users', 'worker users', 'user workers', 'request', 'workers expiry',
    'document queues', 'other', 'other'
  ])
})

test('metrics: gauges are added up over their labels, and all series counted', () => {
  assert.deepEqual(readMetrics([
    '# TYPE a gauge', 'a{x="1"} 2', 'a{x="} 9"} 3', '# TYPE b counter', 'b_total 4', '# TYPE c gauge', 'c 1e3', ''
  ].join('\n')), { gauges: { a: 5, c: 1000 }, series: 4 })
})

test('faults come in an order of the seed, each before one of them comes again; without Kafka none of Kafka', () => {
  const order = (/** @type {number} */ seed, /** @type {boolean} */ kafka) => {
    const next = faultOrder(GENTLE, { kafka, random: seededRandom(seed) })
    return GENTLE.map(() => next().name)
  }
  assert.deepEqual(order(1, true), order(1, true))
  assert.notDeepEqual(order(1, true), order(2, true))
  assert.equal(new Set(order(1, true)).size, GENTLE.length)
  assert.ok(!order(1, false).some((name) => /Kafka|ingest/.test(name)))
})

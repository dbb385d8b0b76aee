import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { offsets, range } from '../../contract/bus-fixture.js'
import { ScriptedBus } from '../../helpers/scripted-bus.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'
import { Replays } from '../../../src/documents/replays.js'
import { Turns } from '../../../src/documents/turns.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'

/** How long a page is shared, ms. */
const KEEP = 1000
const at = (/** @type {number} */ offset) => ({ epoch: 'one', offset })

/**
 * Pages are dropped after `KEEP` ms of the test's time only.
 * @param {{ count?: number, maxBytes?: number }} [options]
 */
function setUp ({ count = 300, maxBytes = Infinity } = {}) {
  const clock = manualClock()
  const bus = new ScriptedBus()
  const metrics = createMetrics({ processMetrics: false })
  bus.appendMany(count)
  const deliveries = { made: 0 }
  const replays = new Replays({
    bus: /** @type {any} */ (bus),
    createDelivery: () => ({ number: ++deliveries.made }),
    maxBytes,
    metrics,
    clock
  })
  return {
    bus, metrics, deliveries, replays, clock,
    /** @param {number} offset @param {string} [epoch] of the live stream */
    read: async (offset, epoch = 'one') => {
      const [{ records, gap }] = await Promise.all([replays.read('doc', at(offset), epoch), clock.pass(0)])
      return { offsets: offsets(records.map(({ record }) => record)), gap }
    }
  }
}

describe('records that many clients have missed', () => {
  test('are read once, with frames created once, for concurrent and directly following requests', async () => {
    const { bus, read, deliveries, metrics, clock } = setUp()
    const { waiting, release } = bus.hold('history')
    const reading = Promise.all(range(2000).map((i) => read(100 + i % 50)))
    await waitFor(() => waiting() === 1)
    release()
    await clock.pass(0)
    for (const [i, answer] of (await reading).entries())
      assert.deepEqual(answer, { offsets: range(200 - (i % 50), 101 + (i % 50)), gap: null })
    assert.deepEqual((await read(299)).offsets, [300])
    assert.equal(bus.calls.length, 1)
    assert.equal(deliveries.made, 200)
    assert.deepEqual(
      (await metrics.replay_pages.get()).values.map(({ labels, value }) => [labels.source, value]).sort(),
      [
        ['read', 1],
        ['shared', 2000]
      ]
    )
  })

  test('are read once for all that begin with the newest ones, until there is a newer record', async () => {
    const { bus, replays, read, deliveries, clock } = setUp()
    /** @param {number} count @param {number} [limit] */
    const newest = async (count, limit) => {
      const [{ records }] = await Promise.all([replays.readNewest('doc', count, bus.end, limit), clock.pass(0)])
      return offsets(records.map(({ record }) => record))
    }
    const { waiting, release } = bus.hold('newest')
    const reading = Promise.all(range(500).map(() => newest(50)))
    await waitFor(() => waiting() === 1)
    release()
    await clock.pass(0)
    for (const found of await reading) assert.deepEqual(found, range(50, 251))
    assert.deepEqual(await newest(50), range(50, 251))
    assert.deepEqual((await read(270)).offsets, range(30, 271))
    assert.deepEqual([bus.calls, deliveries.made], [['newest 50'], 50])
    assert.deepEqual(await newest(2), [299, 300])
    assert.deepEqual(await newest(60, 16), range(16, 241), 'a slow member reads for itself')
    bus.append()
    assert.deepEqual(await newest(50), range(50, 252))
    await clock.pass(KEEP)
    await newest(50)
    assert.deepEqual(bus.calls, ['newest 50', 'newest 2', 'newest 60', 'newest 50', 'newest 50'])
  })

  test('are read once also where newer records of their keys have replaced others', async () => {
    const { bus, read } = setUp({ count: 300 })
    bus.replace([...range(98, 2), ...range(100, 151)])
    const kept = [1, ...range(51, 100), ...range(50, 251)]
    for (const offset of [0, 1, 50, 98, 99, 100, 149, 150, 200, 250, 251, 299]) {
      assert.deepEqual((await read(offset)).offsets, kept.filter((at) => at > offset), `since ${offset}`)
    }
    assert.equal(bus.calls.length, 1)
  })

  test('are read again if the cache does not reach back, or is of another log than the live stream', async () => {
    const { bus, read } = setUp({ count: 210 })
    assert.equal((await read(100)).offsets.length, 110)
    assert.deepEqual((await read(99)).offsets, range(111, 100))
    bus.append()
    assert.deepEqual((await read(210)).offsets, [211])
    bus.lose('two')
    assert.equal((await read(150, 'two')).gap, 'epoch')
    assert.equal(bus.calls.length, 4)
  })

  test('are dropped from the cache after a moment', async () => {
    const { bus, read, metrics, clock } = setUp()
    await read(250)
    const bytes = async () => {
      await metrics.collect()
      return (await metrics.replay_bytes.get()).values[0].value
    }
    clock.advance(KEEP - 1)
    assert.ok(await bytes() >= 50 * 1024)
    clock.advance(1)
    assert.equal(await bytes(), 0)
    await read(250)
    assert.equal(bus.calls.length, 2)
  })

  test('are requested again for positions that the log still has, although it was trimmed for the first one', async () => {
    const { bus, read } = setUp()
    bus.trim(120)
    const answers = await Promise.all([read(100), read(100), read(130), read(131)])
    assert.deepEqual(answers.map(({ gap }) => gap), ['trimmed', 'trimmed', null, null])
    assert.deepEqual(answers[3].offsets, range(169, 132))
    assert.equal(bus.calls.length, 2)
  })

  test('fail for all requests that wait for the same read, and are read again by the next one', async () => {
    const { bus, read } = setUp()
    bus.fail('history', 1)
    const results = await Promise.allSettled([read(1), read(2)])
    assert.deepEqual(results.map(({ status }) => status), ['rejected', 'rejected'])
    assert.equal((await read(1)).offsets.length, 200)
  })

  test('wait while too many of them are in flight', async () => {
    const { bus, replays, clock } = setUp({ maxBytes: 100_000 })
    const { waiting, release } = bus.hold('history')
    let read = 0
    for (const i of range(20)) replays.read(`doc${i}`, at(0), 'one').then(() => { read++ })
    await waitFor(() => waiting() === 16)
    await clock.pass(0)
    assert.equal(bus.calls.length, 16)
    release()
    // the limit is exceeded: no further read before the cache is dropped
    await clock.pass(0)
    assert.equal(read, 16)
    assert.equal(bus.calls.length, 16)
    await clock.pass(KEEP)
    assert.equal(read, 20)
  })

  test('are read within the same limits for a client that accepts little', async () => {
    const { bus, replays, metrics, clock } = setUp({ maxBytes: 100_000 })
    await replays.read('doc', at(0), 'one')
    let read = 0
    for (const i of range(20))
      replays.read(`doc${i}`, at(0), 'one', 8).then(({ records }) => { read += records.length })
    await clock.pass(0)
    assert.equal(bus.calls.length, 1)
    const { waiting, release } = bus.hold('history')
    clock.advance(KEEP)
    await waitFor(() => waiting() === 16)
    await clock.pass(0)
    assert.equal(bus.calls.length, 17)
    release()
    await waitFor(() => read === 20 * 8)
    await clock.pass(0)
    await metrics.collect()
    assert.equal((await metrics.replay_bytes.get()).values[0].value, 0)
  })

  test('are taken from the reads of others by a client that accepts little', async () => {
    const { bus, replays, read } = setUp()
    await read(10)
    const { records } = await replays.read('doc', at(50), 'one', 8)
    assert.deepEqual(offsets(records.map(({ record }) => record)), range(160, 51))
    assert.equal(bus.calls.length, 1)
  })
})

test('work that arrives at once is spread over turns of the event loop, in order', async () => {
  const clock = manualClock()
  const turns = new Turns(100, clock)
  /** @type {number[]} */
  const done = []
  const start = turns.take(60)
  assert.equal(start, undefined)
  const all = Promise.all(range(20).map(async (i) => {
    await turns.take(30)
    done.push(i)
  }))
  await Promise.resolve()
  assert.deepEqual(done, [0, 1])
  clock.turn()
  await Promise.resolve()
  assert.deepEqual(done, range(6))
  clock.turn()
  await Promise.resolve()
  assert.deepEqual(done, range(10))
  await Promise.all([all, clock.pass(0)])
  assert.deepEqual(done, range(20))
  clock.turn()
  await Promise.resolve()
  clock.turn()
  await Promise.resolve()
  assert.equal(turns.take(1000), undefined)
})

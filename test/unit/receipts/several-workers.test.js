import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { manualClock } from '../../helpers/manual-clock.js'
import { GRACE, SETTLE } from '../../../src/documents/receipts/receipts.js'
import { GIVE_UP } from '../../../src/documents/receipts/reports.js'
import { FakeParts, TICK, TIMEOUT, assertAddsUp, connections, setUp, turns } from './receipts-fixture.js'

/** @typedef {import('../../../src/documents/receipts/summary.js').Summary} Summary */

describe('a record that reaches several workers', () => {
  /** @param {number} count */
  function setUpWorkers (count) {
    const clock = manualClock()
    const parts = new FakeParts()
    const workers = Array.from({ length: count }, (_, i) => setUp({ clock, parts: parts.of(i) }))
    return {
      parts,
      workers,
      sent: () =>
        workers.flatMap(({ sent }) => sent.map(({ value }) => /** @type {Summary} */ (JSON.parse(value.toString())))),
      /** @param {number} ms @param {typeof workers} [those] */
      async pass (ms, those = workers) {
        clock.advance(ms)
        for (const { receipts } of those) receipts.tick()
        await turns()
      }
    }
  }

  test('has one summary, sent by the last one', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(3)
    const members = connections(5)
    const receipts = [
      workers[0].deliver(members.slice(0, 2), {}, 'r1'),
      workers[1].deliver(members.slice(2, 4), {}, 'r1'),
      workers[2].deliver(members.slice(4), {}, 'r1')
    ]
    await turns()
    for (const [worker, member] of [
      [0, 0],
      [0, 1],
      [1, 2],
      [2, 4]
    ])
      assert.equal(workers[worker].acknowledge(members[member], receipts[worker]), true)
    await pass(SETTLE + TICK)
    assert.deepEqual(sent(), [])
    await pass(TIMEOUT)
    assert.equal(workers[1].sent.length, 1)
    const [summary] = sent()
    assert.deepEqual(summary, {
      ...summary,
      delivered: 5,
      acknowledged: 4,
      missing: [{ uid: 'user-3', sid: 'sid-3' }],
      more: 0,
      unasked: 0
    })
    await pass(GRACE + TICK)
    assert.equal(sent().length, 1)
    assert.equal(parts.all.size, 0)
    assert.deepEqual(workers.map(({ receipts }) => receipts.pending), [0, 0, 0])
  })

  test('is sent only after the record has reached all workers, even if the first ones have all acknowledgements', async () => {
    const { workers, sent, pass } = setUpWorkers(2)
    const [one, other] = connections(2)
    workers[0].acknowledge(one, workers[0].deliver([one], {}, 'r1'))
    await turns()
    await pass(SETTLE / 2)
    workers[1].acknowledge(other, workers[1].deliver([other], {}, 'r1'))
    await turns()
    await pass(SETTLE / 2 + TICK)
    await pass(SETTLE / 2 + TICK)
    assert.deepEqual(sent().map(({ acknowledged }) => acknowledged), [2])
  })

  test('is sent without a dead worker, whose members are still counted', async () => {
    const { workers, sent, pass } = setUpWorkers(3)
    const members = connections(6)
    workers.forEach((worker, i) => worker.deliver(members.slice(2 * i, 2 * i + 2), {}, 'r1'))
    await turns()
    const alive = workers.slice(1)
    await pass(TIMEOUT + TICK, alive)
    assert.deepEqual(sent(), [])
    await pass(GRACE + TICK, alive)
    assert.equal(sent().length, 1)
    const [summary] = sent()
    assert.deepEqual([summary.delivered, summary.acknowledged, summary.missing.length, summary.more], [6, 0, 4, 2])
    // the worker was only blocked: its members are counted already
    await pass(0, workers)
    assert.equal(sent().length, 1)
  })

  test('does not count the part of a late worker twice', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(2)
    const members = connections(2)
    workers[0].deliver([members[0]], {}, 'r1')
    await turns()
    parts.failing = true
    workers[1].deliver([members[1]], {}, 'r1')
    await turns()
    parts.failing = false
    await pass(TIMEOUT + TICK)
    // a late worker sends its part separately, and the two add up
    assert.equal(sent().reduce((sum, { delivered }) => sum + delivered, 0), 2)
    sent().forEach(assertAddsUp)
  })

  test('is counted as unreported by each worker that cannot store its part, or does not know the outcome', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(3)
    const members = connections(6)
    workers.forEach((worker, i) => worker.deliver(members.slice(0, 2 * i + 1), {}, 'r1'))
    await turns()
    await pass(TIMEOUT + TICK, [workers[0]])
    parts.failing = true
    await pass(0, [workers[1]])
    await pass(GRACE, [workers[0]])
    await workers[0].clock.pass(GIVE_UP + 5000)
    assert.deepEqual(sent(), [])
    assert.deepEqual(await Promise.all(workers.map(({ counted }) => counted())), [
      { missing: 1, unreported: 1 },
      { missing: 3, unreported: 3 },
      {}
    ])
    assert.deepEqual(workers.map(({ receipts }) => receipts.pending), [0, 0, 5])
  })

  test('adds up, for any members and order of acknowledgements', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(4)
    const members = workers.map(() => connections(50))
    let acknowledged = 0
    for (let i = 0; i < 100; i++) {
      for (const [w, worker] of workers.entries()) {
        const those = members[w].filter(() => Math.random() < 0.7)
        const receipt = worker.deliver(those, { traceId: `t${i}` }, `r${i}`)
        for (const member of those.sort(() => Math.random() - 0.5))
          if (Math.random() < 0.9 && worker.acknowledge(member, receipt)) acknowledged++
      }
    }
    await turns()
    await pass(TIMEOUT + TICK)
    const traces = workers.flatMap((worker) => worker.sent.map(({ traceId }) => traceId))
    assert.deepEqual([traces.length, new Set(traces).size, parts.all.size], [100, 100, 0])
    sent().forEach(assertAddsUp)
    assert.equal(sent().reduce((sum, summary) => sum + summary.acknowledged, 0), acknowledged)
  })

  test('is sent at once by the only worker that can have the connection', async () => {
    const { workers, sent } = setUpWorkers(1)
    const [member] = connections(1)
    workers[0].acknowledge(member, workers[0].deliver([member], { operator: 'socket', sid: member.id }, 'r1'))
    await turns()
    assert.equal(sent().length, 1)
  })
})

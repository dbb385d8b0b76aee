import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { manualClock } from '../../helpers/manual-clock.js'
import { publicationWith } from '../../helpers/publication.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { createReceipts, GRACE, SETTLE } from '../../../src/receipts/receipts.js'
import { createMetrics } from '../../../src/metrics/metrics.js'

const TIMEOUT = 10_000
const TICK = 100

/** @typedef {import('../../../src/receipts/summary.js').Summary} Summary */

class FakeConnection {
  /** @type {import('../../../src/receipts/receipt.js').Receiver | null} */
  receiver = null

  /** @param {number} i */
  constructor (i) {
    this.id = `sid-${i}`
    this.uid = `user-${i}`
  }
}

/** @param {number} count */
const connections = (count) => Array.from({ length: count }, (_, i) => new FakeConnection(i))

/**
 * What redis-receipts.js does, for workers of this process; the contract ring tests the real one against the same
 * rules.
 */
class FakeParts {
  /** @type {Map<string, Map<number, object | number>>} */
  all = new Map()
  failing = false

  /** @param {number} worker @returns {import('../../../src/receipts/redis-receipts.js').ReceiptParts} */
  of (worker) {
    const note = async (
      /** @type {string} */ id,
      /** @type {object | number} */ part,
      /** @type {boolean} */ announced
    ) => {
      if (this.failing) throw new Error('redis is away')
      const parts = this.all.get(id) ?? new Map()
      if (announced && !parts.has(worker)) return []
      this.all.set(id, parts.set(worker, part))
      if ([...parts.values()].some((each) => typeof each === 'number')) return []
      this.all.delete(id)
      return [...parts.values()]
    }
    return {
      announce: async (id, clients) => { await note(id, clients, false) },
      report: note,
      close: async (id) => {
        if (this.failing) throw new Error('redis is away')
        const parts = this.all.get(id)
        this.all.delete(id)
        return [...parts?.values() ?? []]
      }
    }
  }
}

/**
 * @param {object} [options]
 * @param {number} [options.max] MAX_PENDING_RECEIPTS
 * @param {import('../../../src/receipts/redis-receipts.js').ReceiptParts} [options.parts]
 * @param {ReturnType<typeof manualClock>} [options.clock]
 */
function setUp ({ max = 100_000, parts, clock = manualClock() } = {}) {
  const metrics = createMetrics({ processMetrics: false })
  /** @type {import('../../../src/uplink/contract.js').UplinkRecord[]} */
  const sent = []
  const uplink = {
    failing: false,
    async send (/** @type {import('../../../src/uplink/contract.js').UplinkRecord} */ record) {
      if (this.failing) throw new Error('kafka is away')
      sent.push(record)
    }
  }
  const receipts = createReceipts({
    settings: { receiptTimeout: TIMEOUT, maxPendingReceipts: max },
    uplink,
    parts,
    metrics,
    log: recordingLog().log,
    clock,
    now: clock.now
  })
  return {
    receipts, clock, sent, uplink,
    /**
     * @param {FakeConnection[]} members
     * @param {Partial<import('../../../src/wire/publication.js').Publication>} [fields]
     * @param {string} [id]
     */
    deliver (members, fields, id) {
      const receipt = /** @type {import('../../../src/receipts/receipt.js').Receipt} */ (
        receipts.open(publicationWith({ receipt: true, ...fields }), id)
      )
      for (const member of members) receipt.ask(member)
      return receipt
    },
    /** @param {FakeConnection} connection @param {{ ackId: number | undefined }} receipt */
    acknowledge: (connection, receipt) =>
      receipts.acknowledge(/** @type {any} */ (connection), /** @type {number} */ (receipt.ackId)),
    /** @param {number} ms */
    pass (ms) {
      clock.advance(ms)
      receipts.tick()
    },
    /** @param {number} count @returns {Promise<Summary[]>} */
    async summaries (count) {
      await waitFor(() => sent.length >= count, { message: () => `${count} summaries, there are ${sent.length}` })
      return sent.map(({ value }) => JSON.parse(value.toString()))
    },
    async counted () {
      await metrics.collect()
      const { values } = await metrics.receipts.get()
      return Object.fromEntries(
        values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value])
      )
    }
  }
}

/** Lets what was begun come to its end. */
const turns = async () => { for (let i = 0; i < 20; i++) await Promise.resolve() }

/** @param {Summary} summary */
function assertAddsUp ({ delivered, acknowledged, missing, more, unasked }) {
  assert.equal(delivered, acknowledged + missing.length + more + unasked)
}

describe('the receipt of a record', () => {
  test('is told when the last member has acknowledged', async () => {
    const { receipts, clock, deliver, acknowledge, pass, summaries, sent, counted } = setUp()
    const members = connections(4)
    const receipt = deliver(members, { event: 'edit', traceId: 't1', timestamp: 1 })
    for (const member of [members[2], members[0], members[3]]) {
      pass(10)
      assert.equal(acknowledge(member, receipt), true)
    }
    await turns()
    assert.equal(sent.length, 0)
    assert.equal(receipts.pending, 4)
    acknowledge(members[1], receipt)
    assert.deepEqual(await summaries(1), [
      { delivered: 4, acknowledged: 4, p50: 20, p99: 30, missing: [], more: 0, unasked: 0 }
    ])
    assert.deepEqual(sent[0], {
      ...sent[0],
      operator: 'receipt',
      guid: 'minutes',
      uid: undefined,
      sid: undefined,
      event: 'edit',
      traceId: 't1',
      timestamp: clock.now(),
      contentType: 'application/json'
    })
    await waitFor(() => receipts.pending === 0)
    assert.deepEqual(await counted(), { acknowledged: 4 })
  })

  test('is told when the time is up, with who did not acknowledge', async () => {
    const { receipts, deliver, acknowledge, pass, summaries, sent, counted } = setUp()
    const members = connections(3)
    const receipt = deliver(members)
    pass(TIMEOUT - TICK)
    acknowledge(members[1], receipt)
    await turns()
    assert.equal(sent.length, 0)
    pass(2 * TICK)
    const [{ p50, p99, ...summary }] = await summaries(1)
    assert.deepEqual(summary, {
      delivered: 3,
      acknowledged: 1,
      missing: [
        { uid: 'user-0', sid: 'sid-0' },
        { uid: 'user-2', sid: 'sid-2' }
      ],
      more: 0,
      unasked: 0
    })
    assert.ok(p50 === p99 && p50 !== null && Math.abs(p50 / (TIMEOUT - TICK) - 1) < 0.03, `${p50} ms`)
    await waitFor(() => receipts.pending === 0)
    assert.deepEqual(await counted(), { acknowledged: 1, missing: 2 })
  })

  test('has null for p50 and p99 when nobody has acknowledged', async () => {
    const { deliver, pass, summaries } = setUp()
    deliver(connections(1))
    pass(TIMEOUT + TICK)
    const [{ p50, p99 }] = await summaries(1)
    assert.deepEqual([p50, p99], [null, null])
  })

  test('names its target as the record does', async () => {
    const { deliver, acknowledge, summaries, sent } = setUp()
    const [member] = connections(1)
    for (const fields of /** @type {const} */ ([
      { operator: 'user', guid: undefined, uid: 'u' },
      { operator: 'socket', guid: undefined, sid: 's' },
      { operator: 'everyone', guid: undefined }
    ])) {
      acknowledge(member, deliver([member], fields))
    }
    await summaries(3)
    assert.deepEqual(
      sent.map(({ guid, uid, sid }) => [guid, uid, sid]),
      [
        [undefined, 'u', undefined],
        [undefined, undefined, 's'],
        [undefined, undefined, undefined]
      ]
    )
  })

  test('counts each member once, only those that were asked, and none after the time-out', async () => {
    const { deliver, acknowledge, pass, summaries, counted } = setUp()
    const [first, second, stranger, never] = connections(4)
    const other = deliver([stranger])
    const receipt = deliver([first, second])
    assert.deepEqual([acknowledge(first, receipt), acknowledge(first, receipt)], [true, false])
    assert.deepEqual(
      [acknowledge(stranger, receipt), acknowledge(never, receipt), acknowledge(second, { ackId: 5 })],
      [false, false, false]
    )
    pass(TIMEOUT + TICK)
    assert.deepEqual([acknowledge(second, receipt), acknowledge(stranger, other)], [false, false])
    assert.deepEqual(
      (await summaries(2)).map(({ delivered, acknowledged }) => [delivered, acknowledged]),
      [
        [1, 0],
        [2, 1]
      ]
    )
    assert.deepEqual(await counted(), { acknowledged: 1, missing: 2, stray: 6 })
  })

  test('has a member that disconnected as missing, also if it comes back under another connection and answers', async () => {
    const { deliver, acknowledge, pass, summaries } = setUp()
    const members = connections(2)
    const receipt = deliver(members)
    const back = new FakeConnection(0)
    deliver([back])
    assert.equal(acknowledge(back, receipt), false)
    acknowledge(members[1], receipt)
    pass(TIMEOUT + TICK)
    assert.deepEqual((await summaries(2)).find(({ delivered }) => delivered === 2)?.missing, [
      { uid: 'user-0', sid: 'sid-0' }
    ])
  })

  test('is not told where nobody got the record, and not opened where none is asked for', async () => {
    const { receipts, deliver, pass, sent } = setUp()
    deliver([])
    assert.equal(receipts.open(publicationWith()), null)
    pass(TIMEOUT + TICK)
    await turns()
    assert.deepEqual([sent.length, receipts.pending], [0, 0])
  })

  test('names 100 members at most and counts the others', async () => {
    const { deliver, pass, summaries } = setUp()
    deliver(connections(250))
    pass(TIMEOUT + TICK)
    const [summary] = await summaries(1)
    assert.deepEqual(
      [summary.missing.length, summary.more, new Set(summary.missing.map(({ sid }) => sid)).size],
      [100, 150, 100]
    )
  })

  test('has p50 and p99 within 3 %, in whatever order members joined and answered', async () => {
    const { clock, deliver, acknowledge, summaries } = setUp()
    const members = connections(2000)
    deliver([...members].sort(() => Math.random() - 0.5))
    const receipt = deliver(members)
    for (const member of [...members].sort(() => Math.random() - 0.5)) {
      clock.advance(3)
      assert.equal(acknowledge(member, receipt), true)
    }
    const [{ acknowledged, p50, p99 }] = await summaries(1)
    assert.equal(acknowledged, 2000)
    for (const [told, real] of [
      [p50, 3000],
      [p99, 5940]
    ])
      assert.ok(Math.abs(Number(told) / Number(real) - 1) < 0.03, `${told}, not ${real}`)
  })

  test('ends with the worker', async () => {
    const { receipts, deliver, acknowledge, summaries } = setUp()
    const members = connections(2)
    acknowledge(members[0], deliver(members))
    await receipts.stop()
    assert.deepEqual((await summaries(1)).map(({ acknowledged, missing }) => [acknowledged, missing.length]), [[1, 1]])
  })
})

describe('however many receipts are pending', () => {
  test('at the bound nobody is asked, the summary says so, and later it goes on', async () => {
    const { receipts, deliver, acknowledge, pass, summaries, counted } = setUp({ max: 3 })
    const members = connections(3)
    const asked = deliver(members)
    const full = deliver(members)
    assert.deepEqual([typeof asked.ackId, full.ackId, receipts.pending], ['number', undefined, 4])
    pass(TICK)
    assert.deepEqual(await summaries(1), [
      { delivered: 3, acknowledged: 0, p50: null, p99: null, missing: [], more: 0, unasked: 3 }
    ])
    for (const member of members) acknowledge(member, asked)
    await waitFor(() => receipts.pending === 0)
    assert.equal(typeof deliver(members).ackId, 'number')
    assert.deepEqual(await counted(), { acknowledged: 3, unasked: 3 })
  })

  test('what cannot even be told is dropped', async () => {
    const { receipts, deliver, counted } = setUp({ max: 2 })
    for (let i = 0; i < 4; i++) deliver(connections(1))
    assert.equal(receipts.open(publicationWith({ receipt: true })), null)
    assert.equal(receipts.pending, 4)
    assert.deepEqual(await counted(), { unreported: 1 })
  })

  test('0 turns receipts off', () => {
    const { receipts } = setUp({ max: 0 })
    assert.equal(receipts.open(publicationWith({ receipt: true })), null)
  })

  test('what the uplink does not take counts as pending until it is given up', async () => {
    const { receipts, uplink, deliver, acknowledge, counted } = setUp()
    uplink.failing = true
    const [member] = connections(1)
    // this clock does not sleep, which ends the trying
    acknowledge(member, deliver([member]))
    assert.equal(receipts.pending, 1)
    await waitFor(() => receipts.pending === 0)
    assert.deepEqual(await counted(), { acknowledged: 1, unreported: 1 })
  })
})

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

  test('has one summary, told by the last', async () => {
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

  test('is told no earlier than the record has reached all workers, also if the first have all acknowledgements by then', async () => {
    const { workers, sent, pass } = setUpWorkers(2)
    const [one, other] = connections(2)
    workers[0].acknowledge(one, workers[0].deliver([one], {}, 'r1'))
    await turns()
    await pass(SETTLE / 2)
    workers[1].acknowledge(other, workers[1].deliver([other], {}, 'r1'))
    await turns()
    await pass(SETTLE / 2 + TICK)
    await pass(SETTLE / 2 + TICK)
    assert.deepEqual(
      sent().map(({ acknowledged }) => acknowledged),
      [2]
    )
  })

  test('is told without the worker that died, whose members are counted all the same', async () => {
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
    // it had only stood still: its members are counted already
    await pass(0, workers)
    assert.equal(sent().length, 1)
  })

  test('has no part of a worker that Redis did not hear of in time twice', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(2)
    const members = connections(2)
    workers[0].deliver([members[0]], {}, 'r1')
    await turns()
    parts.failing = true
    workers[1].deliver([members[1]], {}, 'r1')
    await turns()
    parts.failing = false
    await pass(TIMEOUT + TICK)
    // who comes too late tells its part alone: the two add up
    assert.equal(sent().reduce((sum, { delivered }) => sum + delivered, 0), 2)
    sent().forEach(assertAddsUp)
  })

  test('is counted as unreported by each worker that cannot hand over its part, or cannot see what became of it', async () => {
    const { workers, sent, pass, parts } = setUpWorkers(3)
    const members = connections(6)
    workers.forEach((worker, i) => worker.deliver(members.slice(0, 2 * i + 1), {}, 'r1'))
    await turns()
    await pass(TIMEOUT + TICK, [workers[0]])
    parts.failing = true
    await pass(0, [workers[1]])
    await pass(GRACE, [workers[0]])
    assert.deepEqual(sent(), [])
    assert.deepEqual(await Promise.all(workers.map(({ counted }) => counted())), [
      { missing: 1, unreported: 1 },
      { missing: 3, unreported: 3 },
      {}
    ])
    assert.deepEqual(
      workers.map(({ receipts }) => receipts.pending),
      [0, 0, 5]
    )
  })

  test('adds up, whoever answers and in whatever order', async () => {
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

  test('is told at once by the only worker that a connection can be on', async () => {
    const { workers, sent } = setUpWorkers(1)
    const [member] = connections(1)
    workers[0].acknowledge(member, workers[0].deliver([member], { operator: 'socket', sid: member.id }, 'r1'))
    await turns()
    assert.equal(sent().length, 1)
  })
})

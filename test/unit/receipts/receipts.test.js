import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import { manualClock } from '../../helpers/manual-clock.js'
import { publicationWith } from '../../helpers/publication.js'
import { GIVE_UP } from '../../../src/documents/receipts/reports.js'
import { waitFor } from '../../helpers/wait.js'
import { FakeConnection, TICK, TIMEOUT, connections, setUp, turns } from './receipts-fixture.js'

describe('the receipt of a record', () => {
  test('is sent when the last member has acknowledged', async () => {
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

  test('is sent at the timeout, with the members that did not acknowledge', async () => {
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

  test('has null for p50 and p99 without acknowledgements', async () => {
    const { deliver, pass, summaries } = setUp()
    deliver(connections(1))
    pass(TIMEOUT + TICK)
    const [{ p50, p99 }] = await summaries(1)
    assert.deepEqual([p50, p99], [null, null])
  })

  test('has the same target as the record', async () => {
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

  test('counts each member once, only requested ones, and none after the timeout', async () => {
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
    assert.deepEqual(await counted(), { acknowledged: 1, missing: 2, stray: 5 }, 'the id 5 is Socket.IO\'s own')
  })

  test('lists a disconnected member as missing, also if it acknowledges after a reconnect', async () => {
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

  test('is not sent for a record without members, and not opened unless requested', async () => {
    const { receipts, deliver, pass, sent } = setUp()
    deliver([])
    assert.equal(receipts.open(publicationWith()), null)
    pass(TIMEOUT + TICK)
    await turns()
    assert.deepEqual([sent.length, receipts.pending], [0, 0])
  })

  test('lists 100 members at most and counts the others', async () => {
    const { deliver, pass, summaries } = setUp()
    deliver(connections(250))
    pass(TIMEOUT + TICK)
    const [summary] = await summaries(1)
    assert.deepEqual(
      [summary.missing.length, summary.more, new Set(summary.missing.map(({ sid }) => sid)).size],
      [100, 150, 100]
    )
  })

  test('has p50 and p99 within 3 %, for any order of joins and acknowledgements', async () => {
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

  test('ends together with the worker', async () => {
    const { receipts, deliver, acknowledge, summaries } = setUp()
    const members = connections(2)
    acknowledge(members[0], deliver(members))
    await receipts.stop()
    assert.deepEqual((await summaries(1)).map(({ acknowledged, missing }) => [acknowledged, missing.length]), [[1, 1]])
  })
})

describe('the limit of pending receipts', () => {
  test('at the limit no acknowledgement is requested, which the summary shows, and later they are requested again', async () => {
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

  test('a receipt above twice the limit is dropped', async () => {
    const { receipts, deliver, counted } = setUp({ max: 2 })
    for (let i = 0; i < 4; i++) deliver(connections(1))
    assert.equal(receipts.open(publicationWith({ receipt: true })), null)
    assert.equal(receipts.pending, 4)
    assert.deepEqual(await counted(), { unreported: 1 })
  })

  test('a summary that the uplink refuses counts as pending until it is dropped', async () => {
    const { receipts, uplink, deliver, acknowledge, counted, clock } = setUp()
    uplink.failing = true
    const [member] = connections(1)
    acknowledge(member, deliver([member]))
    assert.equal(receipts.pending, 1)
    await clock.pass(GIVE_UP - 5000)
    assert.equal(receipts.pending, 1)
    await clock.pass(10_000)
    assert.equal(receipts.pending, 0)
    assert.deepEqual(await counted(), { acknowledged: 1, unreported: 1 })
  })
  // Node walks all listeners of a signal for each one that is added or removed
  test('each summary that is sent again and again has a signal of its own, and all of them end when the worker stops', async () => {
    const time = manualClock()
    /** @type {(AbortSignal | undefined)[]} */
    const signals = []
    const clock = {
      ...time,
      /** @param {number} ms @param {AbortSignal} [signal] */
      sleep (ms, signal) {
        signals.push(signal)
        return time.sleep(ms, signal)
      }
    }
    const { receipts, uplink, deliver, acknowledge, counted } = setUp({ clock })
    uplink.failing = true
    const members = connections(20)
    for (const member of members) acknowledge(member, deliver([member]))
    await turns()
    assert.deepEqual(
      signals.map((signal) => signal === undefined ? 0 : getEventListeners(signal, 'abort').length),
      members.map(() => 1)
    )
    const stopped = receipts.stop()
    await time.pass(10_000)
    await stopped
    await turns()
    assert.deepEqual([receipts.pending, time.timers], [0, 0])
    assert.deepEqual(await counted(), { acknowledged: 20, unreported: 20 })
  })
})

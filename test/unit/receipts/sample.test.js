import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Delivery } from '../../../src/documents/delivery/delivery.js'
import { observe, receiptOpened } from '../../../src/observe/metrics/points.js'
import { publicationWith } from '../../helpers/publication.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { TICK, TIMEOUT, connections, setUp, turns } from './receipts-fixture.js'

/** @typedef {import('../../../src/documents/receipts/receipt.js').Receipt} Receipt */

/** @param {ReturnType<typeof setUp>['metrics']} metrics */
async function figures (metrics) {
  await metrics.collect()
  /** @type {Record<string, number>} */
  const found = {}
  for (const metric of [metrics.sampled_records, metrics.sampled_acknowledgements, metrics.receipts])
    for (const { labels, value } of (await metric.get()).values) if (value > 0) found[String(labels.result)] = value
  for (const { metricName, labels, value } of (await metrics.sampled_seconds.get()).values)
    if (value > 0 && /_(?:sum|count)$/.test(String(metricName)))
      found[`${labels.since} ${String(metricName).split('_').at(-1)}`] = value
  return found
}

describe('sampled receipts', () => {
  test('measure the way of a record until its clients acknowledge, and tell no service', async () => {
    const { receipts, clock, metrics, sent, deliver, acknowledge, pass } = setUp({ sample: 1 })
    const members = connections(3)
    const receipt = deliver(members, { receipt: false, timestamp: clock.now() - 1000 })
    assert.equal(receipts.pending, 3)
    pass(500)
    for (const member of members.slice(0, 2)) assert.equal(acknowledge(member, receipt), true)
    assert.equal(acknowledge(members[0], receipt), false)
    pass(TIMEOUT + TICK)
    await turns()
    assert.deepEqual([receipts.pending, sent.length], [0, 0])
    assert.deepEqual(await figures(metrics), {
      asked: 1, acknowledged: 2, unanswered: 1, stray: 1,
      'written sum': 1, 'written count': 2, 'produced sum': 3, 'produced count': 2
    })
  })

  test('are of the same records in all workers, about as many as asked for', () => {
    const [one, other] = [setUp({ sample: 0.1 }), setUp({ sample: 0.1 })]
    let count = 0
    for (let i = 0; i < 20_000; i++) {
      const publication = publicationWith({ traceId: `4bf92f3577b34da6a3ce929d0e${i % 100}`, timestamp: 1.7e12 + i })
      const chosen = one.receipts.open(publication) !== null
      assert.equal(other.receipts.open(publication) !== null, chosen)
      if (chosen) count++
    }
    assert.ok(count > 1800 && count < 2200, `${count} of 20,000`)
  })

  test('are not opened by default, nor for a record with x-receipt, nor for one that is kept', () => {
    assert.equal(setUp().receipts.open(publicationWith()), null)
    const { receipts } = setUp({ sample: 1 })
    assert.equal(receipts.open(publicationWith({ receipt: true }))?.sampled, undefined)
    assert.equal(receipts.open(publicationWith({ operator: 'user', guid: undefined, uid: 'ada', keep: true })), null)
  })

  test('take at most half of the bound, so that requested receipts have room', async () => {
    const { receipts, metrics, deliver } = setUp({ sample: 1, max: 4 })
    for (let i = 0; i < 2; i++) deliver(connections(1), { receipt: false })
    assert.equal(receipts.open(publicationWith()), null)
    assert.equal(typeof deliver(connections(2)).ackId, 'number')
    assert.deepEqual(await figures(metrics), { asked: 2, left_out: 1 })
  })

  test('are traced from the first client that is asked', (t) => {
    const { metrics, deliver, acknowledge } = setUp({ sample: 1 })
    /** @type {any[]} */
    const opened = []
    const ended = /** @type {any[]} */ ([])
    const handle = (/** @type {any} */ { receipt, publication }) => {
      opened.push([publication.guid, publication.traceparent, publication.value])
      receipt.stage = { end: (/** @type {any} */ details) => ended.push(details) }
    }
    t.after(observe(metrics, [[receiptOpened, handle]], recordingLog().log))
    const traced = { receipt: false, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
    deliver([], traced)
    const [member] = connections(1)
    acknowledge(member, deliver([member], traced))
    assert.deepEqual(opened, [['minutes', traced.traceparent, undefined]])
    assert.deepEqual(ended, [{ asked: 1, acknowledged: 1 }])
  })

  test('are marked in meta for clients that acknowledge by themselves; for others the bytes are those of any record', () => {
    const { receipts } = setUp({ sample: 1 })
    const publication = publicationWith()
    const delivery = new Delivery(publication, 7, /** @type {Receipt} */ (receipts.open(publication)), 5, 'e')
    const plain = new Delivery(publication, 7, null, 5, 'e')
    for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
      const [asking, other, expected] = [delivery, delivery.plain, plain].map((one) => one.messages(codec)[0].frame)
      assert.deepEqual(other, expected)
      assert.ok(asking.includes('sampled') && !expected.includes('sampled'))
    }
  })
})

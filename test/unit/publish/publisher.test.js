import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createPublisher } from '../../../src/log/publish/publisher.js'

const NOW = 1_800_000_000_000

/**
 * @param {(entries: import('../../../src/log/bus/contract.js').PublishEntry[]) => void} [before] throws in place of
 *   publishing
 */
function setUp (before = () => {}) {
  /** @type {import('../../../src/log/bus/contract.js').PublishEntry[][]} */
  const calls = []
  const metrics = createMetrics({ processMetrics: false })
  const publisher = createPublisher({
    bus: {
      async publish (entries) {
        before(entries)
        calls.push(entries)
        return entries.map((_, i) => ({ position: { epoch: 'e', offset: i + 1 }, duplicate: i === 1 }))
      }
    },
    limits: { maxRecordBytes: 10 },
    metrics,
    clock: { now: () => NOW }
  })
  const counted = async () =>
    (await metrics.records.get()).values.map(({ labels, value }) => `${labels.operator} ${labels.result} ${value}`)
  const timed = async () =>
    (await metrics.stage_seconds.get()).values
      .filter(({ metricName, labels }) => metricName?.endsWith('_count') && labels.stage === 'produced_ingested')
      .map(({ value }) => value)
  return { publisher, calls, counted, timed }
}

const publication = (/** @type {object} */ fields = {}) =>
  /** @type {any} */ ({
    operator: 'broadcast',
    guid: 'minutes',
    event: 'message',
    traceId: 't',
    timestamp: NOW - 5,
    contentType: 'application/json',
    value: Buffer.from('1'),
    ...fields
  })

test('a publication gets its defaults and its source, and is counted', async () => {
  const { publisher, calls, counted, timed } = setUp()
  const published = await publisher.publish(publication(), { source: 'client' })
  assert.deepEqual(published, { position: { epoch: 'e', offset: 1 }, duplicate: false })
  assert.deepEqual(calls, [
    [{ publication: { except: [], ephemeral: false, receipt: false, ...publication(), source: 'client' } }]
  ])
  assert.deepEqual(await counted(), ['broadcast ok 1'])
  assert.deepEqual(await timed(), [1])
})

test('a refused publication never reaches the bus, and is counted with its error code', async () => {
  const { publisher, calls, counted } = setUp()
  const refused = (/** @type {object} */ fields) => publisher.publish(publication(fields), { source: 'client' })
  await assert.rejects(refused({ value: Buffer.alloc(11) }), { code: 'value_too_large' })
  await assert.rejects(refused({ operator: 'explode' }), { code: 'unknown_operator' })
  assert.deepEqual(calls, [])
  assert.deepEqual(await counted(), ['broadcast value_too_large 1', 'unknown unknown_operator 1'])
})

test('checked entries go to the bus in one call; a duplicate has no stage time', async () => {
  const { publisher, calls, counted, timed } = setUp()
  const entries = [1, 2, 3].map(() => ({ publication: publication() }))
  await publisher.publishChecked(entries)
  assert.deepEqual(calls, [entries])
  assert.deepEqual(await counted(), ['broadcast ok 2', 'broadcast duplicate 1'])
  assert.deepEqual(await timed(), [2])
})

test('a failing call of the bus counts nothing', async () => {
  const { publisher, counted } = setUp(() => { throw new InkcastError('unavailable') })
  await assert.rejects(publisher.publish(publication(), { source: 'client' }), { code: 'unavailable' })
  assert.deepEqual(await counted(), [])
})

test('refused and skipped records are counted; the text of a producer never becomes a label', async () => {
  const { publisher, counted } = setUp()
  publisher.refused('<script>', new InkcastError('bad_header'))
  publisher.passedOver(publication({ operator: 'kick' }))
  assert.deepEqual(await counted(), ['unknown bad_header 1', 'kick passed_over 1'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogLevel } from '../../../src/base/common/log-level-control.js'
import { createLog } from '../../../src/base/common/log.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { Inspector } from '../../../src/watch/inspect/inspector.js'
import { createRedisTransport } from '../../../src/watch/inspect/redis-transport.js'
import * as points from '../../../src/observe/metrics/points.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createPublisher } from '../../../src/log/publish/publisher.js'
import { Tracing } from '../../../src/observe/tracing/tracing.js'
import { publicationWith } from '../../helpers/publication.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { storeRedis } from '../../helpers/store-redis.js'
import { waitFor } from '../../helpers/wait.js'

const { observe, runStep, happened, delivered, receiptOpened, batchRead } = points
const { arriving, publishing, logging, sending } = points
const CHANNELS = { happened, delivered, receiptOpened, batchRead }
const STEPS = { publishing, logging, sending }
const silent = () => createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })

for (const [name, point] of Object.entries(CHANNELS)) {
  test(`an observer of ${name} gets the messages of its own instance only, until it ends`, () => {
    const [own, other] = [{}, {}]
    /** @type {any[]} */
    const seen = []
    const end = observe(own, [[point, (message) => seen.push(message.number)]], recordingLog().log)
    point.publish({ by: other, number: 1 })
    point.publish({ by: own, number: 2 })
    end()
    point.publish({ by: own, number: 3 })
    assert.deepEqual(seen, [2])
    assert.equal(point.hasSubscribers, false)
  })
}

for (const [name, step] of Object.entries(STEPS)) {
  test(`an observer of ${name} may replace the records of its own instance, and sees results and errors`, async () => {
    const [own, other] = [{}, {}]
    /** @type {any[]} */
    const seen = []
    const end = observe(own, [
      [step.start, (call) => { call.records = call.records.map((/** @type {number} */ record) => record * 10) }],
      [step.asyncEnd, ({ result, error }) => seen.push(error?.message ?? result)]
    ], recordingLog().log)
    const run = async (/** @type {number[]} */ records) => records.map((record) => record + 1)
    const fail = async () => { throw new Error('refused') }
    assert.deepEqual(await runStep(step, own, [1, 2], run), [11, 21])
    assert.deepEqual(await runStep(step, other, [1, 2], run), [2, 3])
    await assert.rejects(runStep(step, own, [1], fail), /refused/)
    await assert.rejects(runStep(step, other, [1], fail), /refused/)
    end()
    assert.deepEqual(await runStep(step, own, [1, 2], run), [2, 3])
    assert.deepEqual(seen, [[11, 21], 'refused'])
  })
}

test('an observer that fails is logged, and neither a step nor another observer notices', async () => {
  const own = {}
  const { log, lines } = recordingLog()
  const fail = () => { throw new Error('defect') }
  /** @type {string[]} */
  const seen = []
  const ends = [
    observe(own, [[logging.start, fail], [logging.asyncEnd, fail], [arriving.start, fail], [happened, fail]], log),
    observe(own, [[logging.asyncEnd, () => seen.push('logged')], [happened, () => seen.push('happened')]], log)
  ]
  assert.equal(await runStep(logging, own, [1], async () => 'done'), 'done')
  assert.equal(arriving.traceSync(() => 'delivered', { by: own }), 'delivered')
  happened.publish({ by: own })
  for (const end of ends) end()
  assert.deepEqual(seen, ['logged', 'happened'])
  assert.equal(lines.filter(({ level, text }) => level === 'error' && /defect/.test(text)).length, 4)
})

test('without a watch and without traces nothing is observed; the level debug begins and ends traces', async (t) => {
  const active = () => [happened, delivered, receiptOpened, batchRead, logging.start, arriving.start, sending.start]
    .map((point) => point.hasSubscribers)
  const log = silent()
  const level = createLogLevel({ log, usual: 'silent' })
  const tracing = new Tracing({ metrics: createMetrics({ processMetrics: false }), log, clock: systemClock })
  t.after(() => tracing.stop())
  tracing.start()
  assert.ok(active().every((one) => !one))
  log.level = 'debug'
  assert.deepEqual(active(), [false, false, true, true, true, true, true])
  log.level = 'trace'
  level.set('default')
  assert.ok(active().every((one) => !one))
  log.level = 'debug'
  await tracing.stop()
  assert.ok(active().every((one) => !one))
})

test('a watch sees the records of its own gateway among several in one process', async (t) => {
  const gateways = await Promise.all([0, 1, 2].map(async (number) => {
    const metrics = createMetrics({ processMetrics: false })
    const { redis } = await storeRedis(t)
    const transport = createRedisTransport({ redis, log: silent() })
    const inspector = new Inspector({
      transport, process: `embedded-${number}`, host: 'here', metrics, log: silent(), clock: systemClock
    })
    await inspector.start()
    t.after(() => inspector.stop())
    const publisher = createPublisher({
      bus: { publish: async (entries) => entries.map(() => ({ position: { epoch: 'e', offset: number }, duplicate: false })) },
      limits: { maxRecordBytes: 1000 },
      metrics,
      clock: systemClock
    })
    /** @type {import('../../../src/watch/inspect/contract.js').InspectEvent[]} */
    const events = []
    await transport.follow('w', (batch) => events.push(...batch.events))
    await transport.announce({ id: 'w', guid: 'g', lease: 10_000 })
    await waitFor(() => happened.hasSubscribers)
    return { publisher, events }
  }))
  await waitFor(() => gateways.every(({ events }) => events.some(({ hop }) => hop === 'watching')))
  for (const [number, { publisher }] of gateways.entries())
    await publisher.publish(publicationWith({ guid: 'g', event: `of-${number}` }), { source: 'test' })
  await waitFor(() => gateways.every(({ events }) => events.some(({ hop }) => hop === 'logged')))
  for (const [number, { events }] of gateways.entries())
    assert.deepEqual(
      events.filter(({ hop }) => hop !== 'watching').map(({ hop, event }) => [hop, event]),
      ['produced', 'ingested', 'logged'].map((hop) => [hop, `of-${number}`])
    )
})

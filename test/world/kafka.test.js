import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureTopics } from '../../src/kafka/topics.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createKafkaUplink } from '../../src/services/uplink/kafka-uplink.js'
import { memoryQueues } from '../helpers/memory-queues.js'
import { recordingLog } from '../helpers/recording-log.js'

/**
 * @typedef {import('../simulation/script/scripted-cluster.js').ScriptedCluster} ScriptedCluster
 * @typedef {import('../simulation/parts/broker.js').Broker} Broker
 */

/**
 * A process with a part of inkcast in it, beside a cluster with Kafka.
 * @param {(scene: { cluster: ScriptedCluster, broker: Broker, process:
 *   import('../simulation/world/sim-process.js').SimProcess }) => Promise<void>} play
 */
const beside = (play) => () => inCluster({ kafka: true, workers: 1 }, async (cluster) => {
  const broker = /** @type {Broker} */ (cluster.broker)
  await play({ cluster, broker, process: cluster.world.process('beside', { name: 'elsewhere', step: 0 }) })
})

/** @param {string} text @returns {import('../../src/log/publish/uplink.js').UplinkRecord} */
const record = (text) => ({
  operator: 'message', uid: 'u1', sid: 'AAxxxxxxxxxxxxxxxxxx', guid: 'd1', event: 'edit', traceId: 't1',
  timestamp: 1_700_000_000_000, contentType: 'application/json', value: Buffer.from(JSON.stringify(text))
})

/**
 * @param {import('../simulation/world/sim-process.js').SimProcess} process
 * @param {Broker} broker
 * @param {object} limits
 */
function startUplink (process, broker, limits) {
  const metrics = createMetrics({ processMetrics: false })
  const { clock, random } = process
  const uplink = createKafkaUplink({
    kafka: broker.driver(process), topic: 'documents.uplink', queues: memoryQueues(), log: recordingLog().log, metrics,
    limits, clock, random
  })
  /** @param {string} text @returns {Promise<string>} `ok`, or the code of the error */
  const send = (text) => uplink.send(record(text)).then(() => 'ok', (error) => error.code)
  return { uplink, send, pending: async () => (await metrics.uplink_pending.get()).values[0].value }
}

/** @param {ScriptedCluster} cluster @returns {string[]} */
const written = (cluster) => cluster.uplink.filter(({ headers }) => headers['x-uid'] === 'u1').map(({ value }) => value)

test('while Kafka does not respond records are refused: at once above the limit, else after the timeout; later ones are not lost',
  beside(async ({ cluster, broker, process }) => {
    const limits = { records: 100, timeout: 3000 }
    const { send, pending } = await cluster.act(process, () => startUplink(process, broker, limits))
    assert.equal(await cluster.act(process, () => send('0')), 'ok')
    broker.away(20_000, { isSilent: true })
    /** @type {string[]} */
    const settled = []
    process.enter('send', () => {
      for (let i = 0; i < 100; i++) send(`lost ${i}`).then((code) => settled.push(code))
    })
    await cluster.pass(100)
    assert.equal(await cluster.act(process, () => send('above the limit')), 'unavailable')
    assert.deepEqual(settled, [], 'it does not wait for the others')
    assert.equal(await pending(), 100)
    await cluster.until(() => settled.length === 100)
    assert.ok(settled.every((code) => code === 'timeout' || code === 'unavailable'), settled.join())
    assert.equal(await pending(), 0)

    await cluster.pass(20_000)
    for (const text of ['1', '2']) assert.equal(await cluster.act(process, () => send(text)), 'ok')
    // what was refused with `timeout` may be written
    assert.deepEqual(written(cluster).filter((text) => !text.startsWith('lost')), ['0', '1', '2'])
  }))

test('records that were never sent are not written after they were refused', beside(async ({ cluster, broker, process }) => {
  broker.away(10_000, { isSilent: false })
  const { send } = await cluster.act(process, () => startUplink(process, broker, { timeout: 2000 }))
  const codes = await cluster.act(process, () => Promise.all(['1', '2', '3'].map(send)))
  assert.deepEqual(codes, ['unavailable', 'unavailable', 'unavailable'])
  await cluster.pass(20_000)
  assert.equal(await cluster.act(process, () => send('4')), 'ok')
  await cluster.pass(5000)
  assert.deepEqual(written(cluster), ['4'])
}))

test('pending records are written before it stops; later ones are refused', beside(async ({ cluster, broker, process }) => {
  const { uplink, send } = await cluster.act(process, () => startUplink(process, broker, {}))
  const texts = Array.from({ length: 500 }, (_, i) => String(i))
  const codes = await cluster.act(process, async () => {
    const sends = texts.map(send)
    await uplink.stop()
    return [...await Promise.all(sends), await send('later')]
  })
  assert.deepEqual(codes, [...texts.map(() => 'ok'), 'unavailable'])
  assert.deepEqual(written(cluster), texts)
}))

test('while Kafka is unavailable the check of topics is retried until it responds, or until it is aborted',
  beside(async ({ cluster, broker, process }) => {
    const { log, lines } = recordingLog()
    const abort = new AbortController()
    const { clock, random } = process
    const ensure = () => ensureTopics({
      kafka: broker.driver(process), topics: ['new'], settings: { partitions: 2 }, log, signal: abort.signal, clock, random
    })
    const told = () => lines.filter(({ text }) => text.includes('Kafka does not respond')).length
    broker.away(8000, { isSilent: false })
    /** @type {string[]} */
    const ends = []
    process.enter('ensure', () => {
      for (const name of ['first', 'second']) ensure().then(() => ends.push(name), (error) => ends.push(error.message))
    })
    await cluster.pass(7000)
    assert.ok(told() >= 2)
    assert.equal(lines.filter(({ level }) => level !== 'debug').length, 2, 'each of the two logs it once')
    assert.deepEqual(ends, [])
    await cluster.until(() => ends.length === 2)
    assert.deepEqual(ends.sort(), ['first', 'second'])
    assert.ok(broker.topics.has('new'))

    broker.away(60_000, { isSilent: false })
    /** @type {string[]} */
    const last = []
    process.enter('ensure', () => { ensure().then(() => last.push('third'), (error) => last.push(error.message)) })
    await cluster.pass(500)
    process.enter('abort', () => abort.abort(new Error('no longer needed')))
    await cluster.until(() => last.length === 1)
    assert.match(last[0], /no longer needed|aborted/)
  }))

test('with KAFKA_VALUE_FRAMING, records of a schema registry and of the api arrive, and one without framing is a dead letter', () =>
  inCluster({ kafka: true, workers: 1, env: { KAFKA_VALUE_FRAMING: 'confluent-json' }, errors: ['dead letter'] }, async (cluster) => {
    const page = await cluster.connect('ada')
    assert.equal((await page.ask('doc:join', { guid: 'd' })).ok, true)
    const headers = { 'x-operator': 'broadcast', 'x-guid': 'd' }
    await cluster.produce(headers, 'plain')
    await cluster.produce(headers, 'framed', (value) => `\0\0\0\0\u0007${JSON.stringify(value)}`)
    assert.equal((await cluster.request('POST', '/v1/documents/d/broadcast', { value: 'of the api' })).status, 202)
    await cluster.until(() => page.got('message').length === 2, { message: () => page.got('message') })
    assert.deepEqual(page.got('message'), ['framed', 'of the api'])
    const letter = await cluster.until(() => cluster.records('documents.dead-letter')[0])
    assert.equal(letter.value, 'plain')
    assert.equal(letter.headers['x-reason'], 'bad_value')
    assert.match(letter.headers['x-message'], /does not begin with the framing of a schema registry/)
  }))

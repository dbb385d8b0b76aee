import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { DeadLetter } from '../../../src/kafka/dead-letter.js'
import { Producer } from '../../../src/kafka/producer.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * A driver of which one broker acknowledges the records with a key `a…`, and the other one no record.
 * @param {'refuses' | 'hangs'} other what it does
 */
function halfOfKafka (other) {
  /** @type {string[]} keys of acknowledged records */
  const acknowledged = []
  /** @type {import('../../../src/kafka/contract.js').TopicProducer} */
  const producer = {
    maxBytes: undefined,
    close: async () => true,
    async send (messages) {
      for (const message of messages) {
        if (message.written || !String(message.key).startsWith('a')) continue
        acknowledged.push(String(message.key))
        message.written = true
      }
      if (messages.every(({ written }) => written)) return undefined
      if (other === 'hangs') await new Promise(() => {})
      return { rejected: false, error: new InkcastError('unavailable') }
    }
  }
  const clock = manualClock()
  const kafka = { produce: async () => producer }
  const { log } = recordingLog()
  return { clock, acknowledged, parts: { kafka, topic: 't', log, clock, random: { ...systemRandom, number: () => 1 } } }
}

for (const other of /** @type {const} */ (['refuses', 'hangs'])) {
  test(`a record that Kafka has is reported as written while a broker ${other} others of its batch`, async () => {
    const { clock, parts } = halfOfKafka(other)
    const producer = new Producer(parts)
    /** @type {string[]} */
    const ended = []
    for (const key of ['a1', 'b1'])
      producer.send({ key, value: null, headers: {} })
        .then(() => ended.push(`${key} written`), (error) => ended.push(`${key} ${error.code}`))
    await clock.pass(1000)
    assert.deepEqual(ended, ['a1 written'])
    await clock.pass(10_000)
    assert.deepEqual(ended, ['a1 written', 'b1 timeout'])
  })
}

test('a producer that stops while a broker hangs reports what the other broker has as written', async () => {
  const { clock, parts } = halfOfKafka('hangs')
  const producer = new Producer(parts)
  const sent = ['a1', 'b1'].map((key) => producer.send({ key, value: null, headers: {} }))
  const ended = Promise.allSettled(sent)
  await clock.pass(10)
  const stopped = producer.stop(0)
  await clock.pass(10)
  await stopped
  assert.deepEqual((await ended).map(({ status }) => status), ['fulfilled', 'rejected'])
})

test('a dead letter is written once while Kafka does not accept others of its batch', async () => {
  const { clock, acknowledged, parts } = halfOfKafka('refuses')
  const letters = new DeadLetter(parts)
  const aborter = new AbortController()
  const sent = ['a1', 'b1'].map((key) => letters.send({
    topic: 'd', partition: 0, reason: 'bad_value',
    message: { key: Buffer.from(key), value: null, headers: {}, offset: '1', timestamp: '1' }
  }, aborter.signal).catch(() => {}))
  await clock.pass(35_000)
  assert.deepEqual(acknowledged, ['a1'])
  aborter.abort()
  await clock.pass(1)
  await Promise.all(sent)
})

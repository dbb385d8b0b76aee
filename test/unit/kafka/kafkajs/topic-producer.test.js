import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectProducer } from '../../../../src/kafka/kafkajs/topic-producer.js'
import { manualClock } from '../../../helpers/manual-clock.js'

const MAX_BYTES = { configName: 'max.message.bytes', configValue: '1000' }

/** @param {(calls: number) => string | undefined} refusal of each call */
function opened (refusal) {
  let calls = 0
  const admin = {
    async connect () {},
    async disconnect () {},
    async describeConfigs () {
      const type = refusal(++calls)
      if (type !== undefined) throw Object.assign(new Error(type), { type })
      return { resources: [{ configEntries: [MAX_BYTES] }] }
    }
  }
  const clock = manualClock()
  const kafka = /** @type {any} */ ({ admin: () => admin, producer: () => ({ async connect () {} }) })
  return { clock, producer: connectProducer(kafka, 'a', clock), calls: () => calls }
}

test('a producer of a topic that its broker does not know yet has the topic\'s limit', async () => {
  const { clock, producer } = opened((calls) => calls < 3 ? 'UNKNOWN_TOPIC_OR_PARTITION' : undefined)
  await clock.pass(500)
  assert.equal((await producer).maxBytes, 1000)
})

test('a producer asks for the limit of its topic for 2 s', async () => {
  const { clock, producer, calls } = opened(() => 'UNKNOWN_TOPIC_OR_PARTITION')
  await clock.pass(2000)
  assert.equal((await producer).maxBytes, undefined)
  const before = calls()
  await clock.pass(5000)
  assert.deepEqual([before > 3, calls()], [true, before])
})

test('a producer that may not read its topic\'s settings asks once', async () => {
  const { clock, producer, calls } = opened(() => 'TOPIC_AUTHORIZATION_FAILED')
  await clock.pass(0)
  assert.deepEqual([(await producer).maxBytes, calls()], [undefined, 1])
})

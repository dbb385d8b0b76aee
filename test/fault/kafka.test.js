/**
 * A broker that restarts, and a topic that is deleted and created again.
 */
import { before, describe, test } from 'node:test'
import kafkajs from 'kafkajs'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'
import { openClusterScene } from './scene.js'

const TIMEOUT = 240_000
const TOPIC = 'documents.downlink'
const PARTITIONS = 4

describe('kafka', () => {
  const scope = fileScope()
  /** @type {import('../services/kafka.js').KafkaBroker} */
  let broker
  /** @type {import('kafkajs').Admin} */
  let admin
  /** @type {import('./scene.js').Scene} */
  let scene
  before(async () => {
    broker = await startKafka()
    scope.after(() => broker.stop())
    admin = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING }).admin()
    const env = { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PARTITIONS: String(PARTITIONS), REDIS_URL: redisUrl() }
    scene = await openClusterScene(scope, env, { brokers: broker.brokers, topic: TOPIC })
  }, { timeout: TIMEOUT })

  test('restart of the broker', { timeout: TIMEOUT }, () =>
    scene.fault('Kafka: restart of the broker', () => broker.restart())
  )

  test('kill -9 and restart of the broker', { timeout: TIMEOUT }, () =>
    scene.fault('Kafka: kill -9 and restart of the broker', async () => {
      await broker.kill('SIGKILL')
      await broker.restart()
    })
  )

  test('the downlink topic is deleted and created again', { timeout: TIMEOUT }, () =>
    scene.fault(
      'Kafka: the downlink topic is created again',
      async () => {
        await admin.connect()
        await admin.deleteTopics({ topics: [TOPIC] })
        await waitFor(async () => !(await admin.listTopics()).includes(TOPIC), {
          timeout: 20_000,
          message: 'the topic to be deleted'
        })
        await waitFor(
          async () =>
            (await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: PARTITIONS }] })) ||
            (await admin.listTopics()).includes(TOPIC),
          { timeout: 20_000, message: 'the topic to exist again' }
        )
        await admin.disconnect()
      },
      { pauses: true, resyncs: 'all' }
    )
  )
})

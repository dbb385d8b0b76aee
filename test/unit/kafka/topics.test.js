import assert from 'node:assert/strict'
import { test } from 'node:test'
import kafkajs from 'kafkajs'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createAdmin } from '../../../src/kafka/kafkajs/admin.js'
import { ensureTopics } from '../../../src/kafka/topics.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * A Kafka without topics; the admin client of kafkajs is replaced, because a test has one broker only.
 * @param {{ replication?: string, refuses?: boolean }} [options] the broker's default
 */
function cluster ({ replication = '1', refuses = false } = {}) {
  /** @type {any[]} */
  const created = []
  const admin = {
    async connect () {},
    async disconnect () {},
    async fetchTopicMetadata () {
      throw Object.assign(new Error('unknown'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' })
    },
    async createTopics (/** @type {any} */ { topics }) {
      created.push(...topics)
      return true
    },
    describeCluster: async () => ({ brokers: [{ nodeId: 7 }] }),
    async describeConfigs (/** @type {any} */ { resources: [{ type, name }] }) {
      if (refuses) throw new Error('CLUSTER_AUTHORIZATION_FAILED')
      assert.deepEqual([type, name], [kafkajs.ConfigResourceTypes.BROKER, '7'])
      return { resources: [{ configEntries: [{ configName: 'default.replication.factor', configValue: replication }] }] }
    }
  }
  return { created, kafka: createAdmin(/** @type {any} */ ({ admin: () => admin }), systemClock) }
}

for (const [what, options, expected] of /** @type {const} */ ([
  ['three replicas', { replication: '3' }, '2'],
  ['two replicas', { replication: '2' }, undefined],
  ['one replica', { replication: '1' }, undefined],
  ['a number of replicas that inkcast may not read', { refuses: true }, undefined]
])) {
  test(`a new topic with ${what} has min.insync.replicas=${expected ?? 'as the broker says'}`, async () => {
    const { kafka, created } = cluster(options)
    await ensureTopics({
      kafka, topics: ['a'], settings: { partitions: 1 }, log: recordingLog().log, clock: systemClock, random: systemRandom
    })
    assert.equal(created[0].replicationFactor, -1, 'the brokers decide')
    assert.equal(
      created[0].configEntries.find((/** @type {any} */ { name }) => name === 'min.insync.replicas')?.value, expected
    )
  })
}

const TOPICS = [
  { topic: 'safe', replicas: 3, minInSync: 2 },
  { topic: 'two', replicas: 2, minInSync: 2 },
  { topic: 'unset', replicas: 3, minInSync: 1 },
  { topic: 'also', replicas: 5, minInSync: 1 },
  { topic: 'few', replicas: 2, minInSync: 1 },
  { topic: 'single', replicas: 1, minInSync: 1 }
]

/** @param {import('../../../src/kafka/contract.js').Safety} safety @returns {Promise<string[]>} what is logged */
async function toldOf (safety) {
  const { log, lines } = recordingLog()
  const kafka = { ensureTopics: async () => ({ missing: [], created: false }), safety: async () => safety }
  await ensureTopics({ kafka, topics: ['t'], settings: { partitions: 1 }, log, clock: systemClock, random: systemRandom })
  assert.ok(lines.every(({ level }) => level === 'warn'))
  return lines.map(({ text }) => text)
}

test('unsafe topics are named in one sentence each, with what to do; with one broker there is nothing to do', async () => {
  const sentences = await toldOf({ brokers: 3, topics: TOPICS })
  assert.equal(sentences.length, 2)
  assert.match(
    sentences[0],
    /in unset, also: set min\.insync\.replicas=2 \(kafka-configs\.sh .+ --add-config min\.insync\.replicas=2\)$/
  )
  assert.match(sentences[1], /fewer than three replicas: few, single; give them three/)
  assert.deepEqual(await toldOf({ brokers: 1, topics: TOPICS }), [])
  assert.deepEqual(await toldOf({ brokers: 3, topics: TOPICS.slice(0, 2) }), [])
})

test('the warning comes once per process; topics whose settings may not be read are no error', async () => {
  const { log, lines } = recordingLog()
  let asked = 0
  const driver = {
    ensureTopics: async () => ({ missing: [], created: false }),
    safety: async () => ({ brokers: 3, topics: [TOPICS[2 + asked++]] })
  }
  const settings = { partitions: 1 }
  for (let i = 0; i < 3; i++) await ensureTopics({
    kafka: driver, topics: ['unset'], settings, log, clock: systemClock, random: systemRandom
  })
  assert.deepEqual(lines.map(({ level }) => level), ['warn'])
  const refusing = { ...driver, safety: () => Promise.reject(new Error('TOPIC_AUTHORIZATION_FAILED')) }
  await ensureTopics({ kafka: refusing, topics: ['unset'], settings, log, clock: systemClock, random: systemRandom })
  assert.deepEqual(lines.map(({ level }) => level), ['warn', 'debug'])
})

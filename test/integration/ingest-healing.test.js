import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createRedisMarks } from '../../src/bus/redis-marks.js'
import { createFeeds } from '../../src/documents/feeds.js'
import { sourceMark } from '../../src/redis/keys.js'
import { createInbox, entry, fresh, handlersOf, range } from '../contract/bus-fixture.js'
import { createRedisPair } from '../contract/bus-redis-pair.js'
import { broadcast, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { recordingLog } from '../helpers/recording-log.js'
import { FakeMember } from '../helpers/scripted-bus.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/**
 * A log with records from Kafka and others, which no world shows. The rest is in test/world/healing.test.js.
 */

/** In an idle document, canaries detect that Redis is back and that healing is complete. */
const CANARIES = { cycle: 500, wedged: 1e9 }

/** A member that records the numbers in its records. */
class Reader extends FakeMember {
  /** @type {number[]} */
  numbers = []

  /** @param {import('../../src/bus/contract.js').BusRecord} record @returns {false | void} */
  deliver (record) {
    const taken = super.deliver(record)
    if (taken !== false) this.numbers.push(Number(record.publication.value))
    return taken
  }
}

/** @param {import('node:test').TestContext} test */
async function scene (test) {
  /** @type {(() => unknown)[]} */
  const ends = []
  test.after(async () => { for (const end of ends.reverse()) await end() })
  const t = /** @type {import('node:test').TestContext} */ (
    /** @type {unknown} */ ({ after: (/** @type {() => unknown} */ end) => ends.push(end) })
  )
  const server = await startRedis()
  t.after(() => server.stop())
  const admin = new Redis(server.url, { retryStrategy: () => 50 })
  admin.on('error', () => {})
  t.after(() => admin.disconnect())
  const inboxes = [createInbox(), createInbox()]
  const pair = await createRedisPair(server.url, {
    handlers: [handlersOf(inboxes[0]), handlersOf(inboxes[1])],
    workers: [1, 2],
    history: { size: 1000, ttl: 60 }
  })
  t.after(() => pair.stop())
  /** Feeds of each worker. */
  const [here, there] = [pair.first, pair.second].map((bus, i) => {
    const feeds = createFeeds({
      bus,
      createDelivery: (record) => record,
      metrics: pair.metrics,
      log: recordingLog().log,
      clock: systemClock,
      random: systemRandom
    })
    inboxes[i].onRecord = (record) => feeds.receive(record)
    inboxes[i].onReconnect = (guids) => { feeds.check(guids).catch(() => {}) }
    feeds.start()
    t.after(() => feeds.stop())
    return feeds
  })
  const kafka = await testKafka(t, { partitions: 2 })
  const redis = pair.connections[2]
  const { ingest } = await startIngest(kafka, {
    bus: /** @type {any} */ (pair.publisher),
    markStore: createRedisMarks({ redis }),
    times: CANARIES
  })
  redis.onBack(() => ingest.suspect())
  const guids = range(6).map(() => fresh())
  let sent = 0
  /** Publishes the next numbers to each document. @param {number} count */
  const produce = async (count) => {
    const numbers = range(count, sent + 1)
    sent += count
    await kafka.produce(numbers.flatMap((number) => guids.map((guid) => broadcast(guid, number))))
  }
  const join = async (/** @type {typeof here} */ feeds, /** @type {string} */ guid, /** @type {any} */ since) => {
    const member = new Reader(guid)
    const joined = await waitFor(() => feeds.join(guid, member, since, () => true), {
      timeout: 20_000,
      message: 'to join'
    })
    return { guid, member, ...joined }
  }
  await produce(10)
  const members = await Promise.all(guids.map((guid) => join(here, guid, undefined)))
  await waitFor(() => members.every(({ member, position }) => position.offset + member.offsets.length === sent), {
    timeout: 20_000,
    message: 'the first records'
  })
  const marks = async () =>
    Object.fromEntries(
      await Promise.all(
        (await admin.keys(sourceMark('*'))).map(async (key) => [key, Number.parseInt((await admin.get(key)) ?? '-1')])
      )
    )
  const before = await marks()
  // canaries advance the marks
  await waitFor(async () => {
    const now = await marks()
    return Object.keys(now).length === 2 && Object.keys(now).every((key) => now[key] > (before[key] ?? -1) + 1)
  }, { timeout: 20_000, message: 'the marks to be behind the first records' })
  const positions = await pair.second.positions(guids)

  return {
    pair, there, guids, members, produce, join, positions,

    /**
     * @param {number} count of records that are delivered and then lost by Redis
     * @param {() => Promise<unknown>} [alsoLost]
     * @param {() => Promise<unknown>} [down] run while Redis is down
     */
    async lose (count, alsoLost = async () => {}, down = async () => {}) {
      await admin.save()
      const before = sent
      await produce(count)
      await waitFor(() => members.every(({ member }) => member.numbers.at(-1) === sent), {
        timeout: 20_000,
        message: () =>
          `live delivery of ${before + 1} to ${sent}: ${members.map(({ member }) => member.numbers.at(-1))}`
      })
      await alsoLost()
      await server.kill('SIGKILL')
      await down()
      await server.restart()
    }
  }
}

test('documents with a record that did not come from Kafka start over, the others are healed', async (t) => {
  const { members, guids, lose, produce, pair, join, there, positions } = await scene(t)
  /** @type {any} */
  let mixed
  await lose(
    5,
    async () => {
      ;[mixed] = await pair.publisher.publish([entry(guids[0], 'over HTTP')])
    },
    () => produce(20)
  )
  assert.notEqual(mixed.position.epoch, positions[0]?.epoch, 'a log with another source gets a new epoch')
  await waitFor(() => members.slice(1).every(({ member }) => member.offsets.at(-1) === 35), {
    timeout: 30_000,
    message: 'lost records'
  })
  for (const { member } of members.slice(1))
    assert.deepEqual([member.offsets.filter((offset) => offset > 10), member.resyncs], [range(25, 11), []])
  assert.equal((await join(there, guids[0], mixed.position)).recovered, false)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createRedisMarks } from '../../src/bus/redis-marks.js'
import { createFeeds } from '../../src/documents/feeds.js'
import { readBackwards } from '../../src/documents/history.js'
import { sourceMark } from '../../src/redis/keys.js'
import { createInbox, entry, fresh, handlersOf, range } from '../contract/bus-fixture.js'
import { createRedisPair } from '../contract/bus-redis-pair.js'
import { broadcast, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { recordingLog } from '../helpers/recording-log.js'
import { FakeMember } from '../helpers/scripted-bus.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/**
 * Records from Kafka that Redis lost are restored at their offsets, without a resync.
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
  const start = async () => {
    const { ingest, stop } = await startIngest(kafka, {
      bus: /** @type {any} */ (pair.publisher),
      markStore: createRedisMarks({ redis }),
      times: CANARIES
    })
    redis.onBack(() => ingest.suspect())
    return stop
  }
  let stopIngest = await start()
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
    kafka, inboxes, server, admin, pair, here, there, guids, members, marks, produce, join, positions,

    /** Ends ingest, and begins another one after Redis has lost everything since the last snapshot. */
    async loseWithIngest () {
      await stopIngest()
      await server.kill('SIGKILL')
      await server.restart()
      stopIngest = await start()
    },

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

test('records that Redis lost return at their offsets before new ones: no resync, and a resume is complete', async (t) => {
  const { members, guids, lose, produce, join, there, positions } = await scene(t)
  await lose(20, undefined, () => produce(30))
  await produce(5)
  await waitFor(() => members.every(({ member }) => member.offsets.at(-1) === 65), {
    timeout: 30_000,
    message: () => `all records: ${members.map(({ member }) => [member.offsets.at(-1), member.resyncs])}`
  })
  for (const { member } of members) {
    assert.deepEqual(
      member.offsets.filter((offset) => offset > 10),
      range(55, 11)
    )
    assert.deepEqual(member.resyncs, [])
  }
  for (const [i, guid] of guids.entries()) {
    const epoch = positions[i]?.epoch
    for (const offset of [12, 30, 45]) {
      const { member, recovered, position } = await join(there, guid, { epoch, offset })
      assert.deepEqual([recovered, position, member.resyncs], [true, { epoch, offset: 65 }, []])
      assert.deepEqual(member.offsets, range(65 - offset, offset + 1))
      assert.deepEqual(member.numbers, range(65 - offset, offset + 1), 'the same records as before')
    }
  }
})

test('in quiet documents lost records return with the next record of their partition, and again if Redis loses them twice', async (t) => {
  const { members, lose, produce, server } = await scene(t)
  await lose(20, undefined, () => produce(1))
  await waitFor(() => members.every(({ member }) => member.offsets.at(-1) === 31), {
    timeout: 30_000,
    message: 'lost records'
  })
  await server.kill('SIGKILL')
  await server.restart()
  await produce(1)
  await waitFor(() => members.every(({ member }) => member.offsets.at(-1) === 32), {
    timeout: 30_000,
    message: 'records that were lost twice'
  })
  for (const { member } of members)
    assert.deepEqual([member.offsets.filter((offset) => offset > 10), member.resyncs], [range(22, 11), []])
})

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

test('without the mark of a partition, its documents start over', async (t) => {
  const { admin, members, lose, produce } = await scene(t)
  await admin.del(...await admin.keys(sourceMark('*')))
  await lose(20, undefined, () => produce(30))
  await waitFor(() => members.every(({ member }) => member.resyncs.length > 0), {
    timeout: 30_000,
    message: 'the resyncs'
  })
})

test('after a restore that failed the next one works, and history shows where records may be missing', async (t) => {
  const { admin, guids, members, lose, produce, marks, pair } = await scene(t)
  const numbers = () => members.map(({ member }) => member.numbers.at(-1))
  await admin.del(...await admin.keys(sourceMark('*')))
  await lose(20, undefined, () => produce(5))
  await waitFor(() => members.every(({ member }) => member.resyncs.length > 0), {
    timeout: 30_000,
    message: 'the resyncs'
  })
  const resyncs = members.map(({ member }) => member.resyncs.length)
  await produce(5)
  await waitFor(() => numbers().every((number) => number === 40), { timeout: 20_000, message: 'records after it' })
  const before = await marks()
  await waitFor(async () => {
    const now = await marks()
    return Object.keys(now).length === 2 && Object.keys(now).every((key) => now[key] > (before[key] ?? -1) + 1)
  }, { timeout: 20_000, message: 'new marks' })
  await lose(20, undefined, () => produce(10))
  await produce(5)
  await waitFor(() => numbers().every((number) => number === 75), {
    timeout: 30_000,
    message: () => `all records: ${numbers()}`
  })
  assert.deepEqual(members.map(({ member }) => member.resyncs.length), resyncs, 'no further resync')
  for (const { member } of members) assert.deepEqual(member.numbers.filter((number) => number > 35), range(40, 36))
  for (const guid of guids) {
    const { records, more } = await readBackwards(pair.second, guid, { limit: 100 })
    assert.equal(more, false)
    const found = (/** @type {typeof records} */ some) => some.map(({ publication }) => Number(publication.value))
    assert.deepEqual(found(records), [...range(10, 1), ...range(45, 31)])
    assert.deepEqual(found(records.filter(({ lost }) => lost)), [31])
  }
})

test('records without a log are not carried out again after Redis and ingest have ended together', async (t) => {
  const { admin, kafka, inboxes: [inbox], members, produce, loseWithIngest } = await scene(t)
  const everyone = (/** @type {string} */ value) =>
    kafka.produce([{ key: '*', value: JSON.stringify(value), headers: { 'x-operator': 'everyone' } }])
  const values = () => inbox.directs.map(({ value }) => JSON.parse(String(value)))
  await admin.save()
  await produce(5)
  for (const value of ['a', 'b', 'c']) await everyone(value)
  await waitFor(() => values().length === 3, { timeout: 20_000, message: 'the messages to everyone' })
  await loseWithIngest()
  await produce(1)
  await everyone('d')
  await waitFor(() => values().includes('d') && members.every(({ member }) => member.numbers.at(-1) === 16), {
    timeout: 30_000,
    message: () => `later records: ${members.map(({ member }) => member.numbers.at(-1))}`
  })
  assert.deepEqual(values(), ['a', 'b', 'c', 'd'])
  for (const { member } of members)
    assert.deepEqual([member.numbers.filter((number) => number > 10), member.resyncs], [range(6, 11), []])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { waitFor } from '../helpers/wait.js'

/** @typedef {import('../../src/kafka/contract.js').Delivery} Delivery */

/** @param {Delivery} delivery */
const texts = ({ messages }) => messages.map(({ value }) => String(value))
/** @param {Delivery} delivery */
const resolveAll = ({ messages, resolve }) => resolve(messages[messages.length - 1].offset)
/** @param {number} partition @param {number} from @param {number} count */
const numbered = (partition, from, count) =>
  Array.from({ length: count }, (_, i) => ({ value: String(from + i), partition }))
/** @param {number} from @param {number} count */
const numbers = (from, count) => Array.from({ length: count }, (_, i) => String(from + i))

/** @param {import('./kafka.js').CreateDriver} createDriver @param {import('./kafka.js').OpenKafka} openKafka */
export function kafkaConsumeContract (createDriver, openKafka) {
  /**
   * A member of the test's group.
   * @param {import('../helpers/kafka-ingest.js').TestKafka} kafka
   * @param {(delivery: Delivery) => Promise<void> | void} [handle] called before a delivery is resolved
   */
  function join (kafka, handle = () => {}) {
    const member = {
      /** @type {Map<number, string[]>} resolved values, by partition */
      got: new Map(),
      /** @type {(string | number[])[]} */
      events: [],
      responses: 0,
      /** @type {[number, number][]} */
      skipped: [],
      /** @type {unknown[]} */
      failures: [],
      /** @param {number} partition */
      of: (partition) => member.got.get(partition) ?? [],
      /** @returns {number[] | undefined} partitions of the last assignment */
      assigned: () => /** @type {number[] | undefined} */ (member.events.filter(Array.isArray).at(-1)),
      subscription: createDriver(kafka).consume({ topic: kafka.downlinkTopic, groupId: kafka.groupId }, {
        onJoined: ({ partitions }) => { member.events.push([...partitions].sort()) },
        onRebalance: () => { member.events.push('rebalance') },
        onResponse: () => { member.responses++ },
        onSkip: (partition, next) => { member.skipped.push([partition, next]) },
        onFailure: (error) => { member.failures.push(error) },
        async handle (delivery) {
          await handle(delivery)
          if (!delivery.isCurrent()) return
          member.got.set(delivery.partition, [...member.of(delivery.partition), ...texts(delivery)])
          resolveAll(delivery)
        }
      })
    }
    kafka.onEnd(() => member.subscription.close())
    return member
  }

  /** @param {ReturnType<typeof join>} member @param {number} partition @param {number} count */
  const received = (member, partition, count) =>
    waitFor(() => member.of(partition).length >= count, {
      timeout: 20_000,
      message: () => [member.of(partition).length, member.events, member.failures]
    })

  test('records of a partition arrive in order, from the first one, with their offsets', async (t) => {
    const kafka = await openKafka(t, { partitions: 2 })
    await kafka.produce([...numbered(0, 0, 50), ...numbered(1, 100, 30)])
    /** Offsets after the last delivery, by assignment and partition. @type {Map<string, number>} */
    const nexts = new Map()
    /** @type {unknown[]} */
    const wrong = []
    const member = join(kafka, ({ partition, messages, from, end, highWatermark }) => {
      // a member that is starved of CPU joins again, and reads again what it has not committed
      const place = `${member.events.length} ${partition}`
      const next = nexts.get(place) ?? 0
      const isRight = from === next && Number(messages[0].offset) === next && end === next + messages.length
      if (!isRight || highWatermark < end) wrong.push({ place, next, from, end, highWatermark })
      nexts.set(place, end)
    })
    const all = (/** @type {number} */ partition) => [...new Set(member.of(partition))]
    /** @param {number} partition @param {number} count */
    const received = (partition, count) =>
      waitFor(() => all(partition).length >= count, { timeout: 20_000, message: () => [...member.got] })
    await member.subscription.start()
    await received(0, 50)
    await received(1, 30)
    await kafka.produce([...numbered(0, 50, 50), ...numbered(1, 130, 1)])
    await received(0, 100)
    await received(1, 31)
    assert.deepEqual([all(0), all(1)], [numbers(0, 100), numbers(100, 31)])
    assert.deepEqual([wrong, member.assigned(), member.failures], [[], [0, 1], []])
    assert.ok(member.responses > 0)
  })

  test('unresolved records are delivered again; an assignment begins at the committed offset', async (t) => {
    const kafka = await openKafka(t, { partitions: 1 })
    await kafka.produce(numbered(0, 0, 20))
    let tries = 0
    /** @type {string[]} */
    const seen = []
    const first = createDriver(kafka).consume({ topic: kafka.downlinkTopic, groupId: kafka.groupId }, {
      onJoined () {},
      onRebalance () {},
      onResponse () {},
      onSkip () {},
      onFailure () {},
      async handle (delivery) {
        await delivery.heartbeat()
        if (++tries === 1) return
        const [{ offset, value }] = delivery.messages // one at a time: the rest is delivered again
        seen.push(String(value))
        delivery.resolve(offset)
        if (seen.length === 5) await first.commit([{ partition: 0, offset: 5, metadata: 'mine' }])
      }
    })
    kafka.onEnd(() => first.close())
    await first.start()
    await waitFor(() => seen.length >= 10, { timeout: 20_000, message: () => seen })
    assert.deepEqual(seen.slice(0, 10), numbers(0, 10))
    assert.equal(await first.close(), true)
    const inspector = await createDriver(kafka).inspect({ retries: 1 })
    kafka.onEnd(() => inspector.close())
    assert.deepEqual(
      await inspector.committed(kafka.groupId, kafka.downlinkTopic),
      [{ partition: 0, offset: 5, metadata: 'mine' }]
    )
    const second = join(kafka)
    await second.subscription.start()
    await received(second, 0, 15)
    assert.deepEqual(second.of(0), numbers(5, 15))
  })

  test('a delivery can commit', async (t) => {
    const kafka = await openKafka(t, { partitions: 1 })
    await kafka.produce(numbered(0, 0, 3))
    const member = join(kafka, (delivery) =>
      delivery.commit([{ partition: 0, offset: delivery.end, metadata: 'id' }]))
    await member.subscription.start()
    await received(member, 0, 3)
    const inspector = await createDriver(kafka).inspect({ retries: 1 })
    kafka.onEnd(() => inspector.close())
    const [{ offset }] = await inspector.committed(kafka.groupId, kafka.downlinkTopic)
    assert.equal(offset, 3)
  })

  test('a paused partition blocks no other one, and continues when it is resumed', async (t) => {
    const kafka = await openKafka(t, { partitions: 2 })
    await kafka.produce(numbered(0, 0, 5))
    /** @type {(() => void) | undefined} */
    let resume
    const member = join(kafka, (delivery) => {
      if (delivery.partition === 0) resume ??= delivery.pause()
    })
    await member.subscription.start()
    await received(member, 0, 5)
    await kafka.produce([...numbered(0, 5, 5), ...numbered(1, 100, 5)])
    await received(member, 1, 5)
    await delay(600)
    assert.equal(member.of(0).length, 5)
    assert.ok(resume)
    resume()
    await received(member, 0, 10)
    assert.deepEqual(member.of(0), numbers(0, 10))
  })

  test('seek continues at the given offset', async (t) => {
    const kafka = await openKafka(t, { partitions: 1 })
    await kafka.produce(numbered(0, 0, 10))
    const member = join(kafka)
    await member.subscription.start()
    await received(member, 0, 10)
    member.subscription.seek(0, 7)
    await received(member, 0, 13)
    assert.deepEqual(member.of(0), [...numbers(0, 10), ...numbers(7, 3)])
  })

  test('a second member takes over partitions: a delivery that was reassigned is not current', async (t) => {
    const kafka = await openKafka(t, { partitions: 2 })
    await kafka.produce([...numbered(0, 0, 10), ...numbered(1, 0, 10)])
    const first = join(kafka)
    await first.subscription.start()
    await received(first, 0, 10)
    await received(first, 1, 10)
    await first.subscription.commit([0, 1].map((partition) => ({ partition, offset: 10, metadata: '' })))

    const second = join(kafka)
    await second.subscription.start()
    const both = () => [...first.assigned() ?? [], ...second.assigned() ?? []].sort()
    await waitFor(() => second.assigned()?.length === 1 && both().join() === '0,1', {
      timeout: 20_000,
      message: () => [first.events, second.events]
    })
    assert.deepEqual([first.events[0], first.events[1]], [[0, 1], 'rebalance'])
    await kafka.produce([...numbered(0, 10, 10), ...numbered(1, 10, 10)])
    const owner = (/** @type {number} */ partition) => first.assigned()?.includes(partition) ? first : second
    const other = (/** @type {number} */ partition) => owner(partition) === first ? second : first
    for (const partition of [0, 1]) {
      await received(owner(partition), partition, owner(partition) === first ? 20 : 10)
      const seen = JSON.stringify([partition, first.events, [...first.got], second.events, [...second.got]])
      assert.deepEqual(owner(partition).of(partition).slice(-10), numbers(10, 10), seen)
      assert.ok(!other(partition).of(partition).includes('10'))
    }

    // the remaining member gets all partitions
    assert.equal(await first.subscription.close(), true)
    await waitFor(() => second.assigned()?.length === 2, { timeout: 20_000, message: () => second.events })
    assert.deepEqual([first.failures, second.failures], [[], []])
  })

  test('a fetch with nothing but transaction markers is reported as skipped, without a delivery', async (t) => {
    const kafka = await openKafka(t, { partitions: 1 })
    const member = join(kafka)
    await member.subscription.start()
    await waitFor(() => member.assigned()?.length === 1, { timeout: 20_000 })
    const transactional = kafka.client.producer({ transactionalId: kafka.groupId, maxInFlightRequests: 1 })
    kafka.onEnd(() => transactional.disconnect())
    await transactional.connect()
    const transaction = await transactional.transaction()
    await transaction.send({ topic: kafka.downlinkTopic, messages: [{ value: 'never' }] })
    await transaction.abort()
    await waitFor(() => member.skipped.some(([, next]) => next === 2), { message: () => member.skipped })
    await kafka.produce(numbered(0, 0, 1))
    await received(member, 0, 1)
    assert.deepEqual(member.of(0), ['0'])
  })
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemRandom } from '../../../src/base/common/random.js'
import { publication, range } from '../../contract/bus-fixture.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { FakeMember, ScriptedBus } from '../../helpers/scripted-bus.js'
import { waitFor } from '../../helpers/wait.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createCatchUp } from '../../../src/documents/catch-up.js'
import { Feeds } from '../../../src/documents/feeds.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'

/** A document with a member that accepts everything and one that can be full. */
async function setUp () {
  const bus = new ScriptedBus()
  const { log, lines } = recordingLog()
  const feeds = new Feeds({
    bus: /** @type {any} */ (bus),
    createDelivery: (record) => record,
    metrics: createMetrics({ processMetrics: false }),
    log,
    clock: systemClock,
    random: systemRandom
  })
  const fast = new FakeMember('fast')
  const slow = new FakeMember('slow', 'slow client')
  for (const member of [fast, slow]) await feeds.join('doc', member, undefined, () => true)
  return {
    bus, feeds, fast, slow, lines,
    /** Appends and delivers. @param {number} count @param {object} [fields] */
    publish (count, fields) { for (let i = 0; i < count; i++) feeds.receive(bus.append(fields)) }
  }
}

/** @param {FakeMember} member @param {number} count from offset 1 */
const has = (member, count) =>
  waitFor(() => member.offsets.length >= count && member.behind === 0, { message: () => member.offsets }).then(() =>
    assert.deepEqual(member.offsets, range(count, 1))
  )
const at = (/** @type {number} */ offset) => ({ epoch: 'one', offset })

describe('a member that cannot accept a record', () => {
  test('gets the rest from the log when it can, in order and once, and then live', async () => {
    const { bus, feeds, fast, slow, publish } = await setUp()
    publish(3)
    const drain = slow.fill()
    publish(300)
    assert.deepEqual(fast.offsets, range(303, 1))
    await turn()
    assert.deepEqual([slow.offsets, slow.behind], [[1, 2, 3], 1])
    assert.deepEqual(bus.calls, ['subscribe'])
    assert.deepEqual([feeds.position('doc', slow), feeds.position('doc', fast)], [at(3), at(303)])
    drain()
    publish(5)
    await has(slow, 308)
    const { length } = bus.calls
    publish(2)
    assert.deepEqual([slow.offsets, fast.offsets], [range(310, 1), range(310, 1)])
    assert.equal(bus.calls.length, length)
  })

  test('gets a record that excludes others from the log, too', async () => {
    const { slow, publish } = await setUp()
    publish(3)
    const drain = slow.fill()
    publish(1, { except: ['another client'] })
    publish(3)
    drain()
    await has(slow, 7)
  })

  test('repeatedly, misses no record in between', async () => {
    const { slow, fast, publish } = await setUp()
    const { deliver } = slow
    let drain = () => {}
    slow.deliver = (record) => {
      const taken = deliver.call(slow, record)
      if (slow.offsets.length % 7 === 0) drain = slow.fill()
      return taken
    }
    for (let i = 0; i < 200; i++) {
      publish(1 + i % 3)
      if (i % 2 === 0) drain()
      await turn()
    }
    await waitFor(() => { drain(); return slow.offsets.length >= fast.offsets.length })
    assert.deepEqual(slow.offsets, range(fast.offsets.length, 1))
  })

  test('does not get records that exclude it, after that either', async () => {
    const { slow, publish } = await setUp()
    const drain = slow.fill()
    publish(1)
    publish(1, { except: ['slow client'] })
    publish(1)
    drain()
    await waitFor(() => slow.behind === 0)
    assert.deepEqual(slow.offsets, [1, 3])
  })

  test('is still offered ephemeral records', async () => {
    const { feeds, fast, slow, publish } = await setUp()
    const drain = slow.fill()
    publish(1)
    slow.deliver = (record) => { slow.offsets.push(record.offset) }
    feeds.leave('doc', fast)
    feeds.receive({ epoch: '', offset: 0, publication: publication({ guid: 'doc', ephemeral: true }), ingestedAt: 0 })
    feeds.receive({
      epoch: '',
      offset: 0,
      publication: publication({ guid: 'doc', ephemeral: true, except: ['slow'] }),
      ingestedAt: 0
    })
    assert.deepEqual(slow.offsets, [0])
    drain()
  })

  test('gets a resync when the log no longer reaches back, and continues from there', async () => {
    for (const [lose, position, reason] of /** @type {const} */ ([
      [false, at(20), 'trimmed'],
      [true, { epoch: 'two', offset: 1 }, 'epoch']
    ])) {
      const { bus, slow, publish } = await setUp()
      publish(2)
      const drain = slow.fill()
      publish(18)
      if (lose) {
        bus.lose('two')
        publish(1)
        await waitFor(() => bus.calls.length === 2)
      } else {
        bus.trim(10)
      }
      drain()
      await waitFor(() => slow.resyncs.length === 1 && slow.behind === 0)
      assert.deepEqual(slow.resyncs, [{ ...position, reason }])
      publish(1)
      assert.deepEqual(slow.offsets, [1, 2, position.offset + 1])
    }
  })

  test('keeps its document open, also as the only one, and may leave', async () => {
    const { bus, feeds, fast, slow, publish, lines } = await setUp()
    const drain = slow.fill()
    publish(1)
    feeds.leave('doc', fast)
    assert.equal(feeds.size, 1)
    feeds.leave('doc', slow)
    assert.equal(feeds.size, 0)
    drain()
    await waitFor(() => slow.behind === 0)
    assert.deepEqual(slow.offsets, [])
    assert.deepEqual(bus.calls, ['subscribe', 'unsubscribe'])
    assert.deepEqual(lines.filter(({ level }) => level === 'error'), [])
  })

  test('waits for an unreadable log', async () => {
    const { bus, slow, publish } = await setUp()
    const drain = slow.fill()
    publish(4)
    bus.fail('history', 2)
    drain()
    await has(slow, 4)
  })
})

describe('a member that is behind with several documents', () => {
  /** @param {Record<string, number>} failing number of failed reads, by document */
  function setUp (failing = {}) {
    /** @type {string[]} */
    const pages = []
    let now = 0
    /** Time passes only while the catch-up sleeps. */
    const clock = {
      ...systemClock,
      monotonic: () => now,
      async sleep (/** @type {number} */ ms) {
        now += ms
        await turn()
      }
    }
    const { log, lines } = recordingLog()
    const member = new FakeMember()
    /** @type {Map<string, { epoch: string, offset: number }>} */
    const missing = new Map()
    let reading = 0
    const catchUp = createCatchUp({
      async replayPage ({ guid }, _member, have, _wanted, limit) {
        assert.equal(++reading, 1, 'a page at a time')
        await turn()
        reading--
        pages.push(guid)
        if ((failing[guid] ?? 0) > 0) {
          failing[guid]--
          throw new Error('the log cannot be read')
        }
        have.offset = Math.min(40, have.offset + limit)
        return null
      },
      signal: new AbortController().signal,
      onFailure () {},
      log,
      clock,
      random: systemRandom
    })
    return {
      pages, member, lines,
      /** @param {string} guid */
      fallsBehind (guid) {
        const have = at(0)
        missing.set(guid, have)
        catchUp(
          /** @type {any} */ ({
            guid,
            position: at(40),
            missingFrom: () => missing.get(guid),
            rejoin: () => missing.delete(guid)
          }),
          member,
          have
        )
      }
    }
  }

  test('gets one page of each in turn', async () => {
    const { pages, member, fallsBehind } = setUp()
    for (const guid of ['a', 'b', 'c']) fallsBehind(guid)
    await waitFor(() => member.behind === 0)
    assert.equal(pages.join(''), 'abcabcabc')
    fallsBehind('d')
    await waitFor(() => member.behind === 0)
    assert.equal(pages.join(''), 'abcabcabcddd')
  })

  test('does not delay the others for one whose log cannot be read', async () => {
    const { pages, member, fallsBehind } = setUp({ a: 2 })
    for (const guid of ['a', 'b', 'c']) fallsBehind(guid)
    await waitFor(() => member.behind === 0)
    assert.equal(pages.join(''), 'abcbcbcaaaa')
  })
})

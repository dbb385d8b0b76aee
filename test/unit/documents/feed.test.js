import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { publication, range } from '../../contract/bus-fixture.js'
import { countedBy } from '../../helpers/counted.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { FakeMember, ScriptedBus } from '../../helpers/scripted-bus.js'
import { waitFor } from '../../helpers/wait.js'
import { Feed } from '../../../src/documents/feed.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'

/** @typedef {import('../../../src/log/bus/contract.js').BusRecord} BusRecord */

function setUp () {
  const bus = new ScriptedBus()
  const metrics = createMetrics({ processMetrics: false })
  const { log, lines } = recordingLog()
  let deliveries = 0
  const feed = new Feed('doc', {
    bus: /** @type {any} */ (bus),
    createDelivery: (record) => { deliveries++; return record },
    metrics,
    log,
    onBehind: () => {},
    clock: systemClock,
    random: systemRandom
  })
  return {
    bus,
    feed,
    lines,
    deliveries: () => deliveries,
    /** @param {...BusRecord} records */
    receive (...records) {
      for (const record of records) feed.receive(record)
    },
    /** @param {FakeMember} [member] @param {number} [offset] */
    async join (member = new FakeMember(), offset) {
      await feed.open()
      feed.add(member, offset ?? feed.position.offset)
      return member
    },
    repairs: () => countedBy(metrics.feed_repairs),
    errors: async () => Object.entries(await countedBy(metrics.bus_errors))
  }
}

/** @param {FakeMember} member @param {number} count from offset 1 */
const has = (member, count) =>
  waitFor(() => member.offsets.length >= count, { message: () => member.offsets }).then(() =>
    assert.deepEqual(member.offsets, range(count, 1))
  )

/** @returns {BusRecord} */
const ephemeral = () => ({
  epoch: '',
  offset: 0,
  publication: publication({ guid: 'doc', ephemeral: true }),
  ingestedAt: 0
})

describe('a feed', () => {
  test('delivers records in order to all members, created once', async () => {
    const { bus, join, receive, deliveries } = setUp()
    const members = await Promise.all([join(), join(), join()])
    receive(...bus.appendMany(3))
    for (const member of members) assert.deepEqual(member.offsets, [1, 2, 3])
    assert.equal(deliveries(), 3)
    assert.deepEqual(bus.calls, ['subscribe'])
  })

  test('creates nothing without members, and keeps its position', async () => {
    const { bus, feed, join, receive, deliveries } = setUp()
    const member = await join()
    assert.equal(feed.remove(member), true)
    assert.equal(feed.remove(member), false)
    receive(...bus.appendMany(2))
    assert.equal(deliveries(), 0)
    assert.equal(feed.position.offset, 2)
  })

  test('drops duplicates', async () => {
    const { bus, join, receive } = setUp()
    const member = await join()
    const [first, second] = bus.appendMany(2)
    receive(first, first, second, first, second)
    await has(member, 2)
    assert.deepEqual(bus.calls, ['subscribe'])
  })

  test('fills a hole from the log before anything later is delivered', async () => {
    const { bus, join, receive, repairs } = setUp()
    const member = await join()
    const records = bus.appendMany(6)
    receive(records[0], records[3])
    assert.deepEqual(member.offsets, [1])
    // records that arrive in the meantime are queued, in any order
    receive(records[4], ephemeral(), records[5])
    await waitFor(() => member.offsets.length === 7)
    // records without an offset do not wait
    assert.deepEqual(member.offsets, [1, 0, 2, 3, 4, 5, 6])
    assert.deepEqual(bus.calls, ['subscribe', 'history 1'])
    assert.deepEqual(await repairs(), { repaired: 1 })
    receive(bus.append())
    assert.deepEqual(member.offsets.at(-1), 7)
  })

  test('fills a hole with what newer records of their keys have left of it, and asks nobody to resync', async () => {
    const { bus, join, receive, repairs } = setUp()
    const member = await join()
    const records = bus.appendMany(8)
    receive(records[0])
    bus.replace([2, 3, 5, 6])
    receive(records[6], records[7])
    await waitFor(() => member.offsets.at(-1) === 8)
    assert.deepEqual([member.offsets, member.resyncs], [[1, 4, 7, 8], []])
    assert.deepEqual(bus.calls, ['subscribe', 'history 1'])
    assert.deepEqual(await repairs(), { repaired: 1 })
  })

  test('reads a long hole page by page', async () => {
    const { bus, join, receive } = setUp()
    const member = await join()
    receive(/** @type {BusRecord} */ (bus.appendMany(450).at(-1)))
    await has(member, 450)
    assert.deepEqual(bus.calls, ['subscribe', 'history 0', 'history 200', 'history 400'])
  })

  test('detects a hole that opens while it fills another one', async () => {
    const { bus, join, receive } = setUp()
    const member = await join()
    const { waiting, release } = bus.hold('history')
    receive(bus.appendMany(3)[2])
    await waitFor(() => waiting() === 1)
    receive(bus.appendMany(3)[2])
    release()
    await has(member, 6)
  })

  test('retries while the log cannot be read', async () => {
    const { bus, feed, join, receive, errors } = setUp()
    const member = await join()
    bus.fail('history', 2)
    receive(bus.appendMany(2)[1])
    await has(member, 2)
    assert.deepEqual(await errors(), [['history', 2]])
    receive(bus.append())
    await has(member, 3)
    assert.equal(feed.closed, false)
  })

  test('stops retrying when it is closed', async () => {
    const { bus, feed, join, receive, lines } = setUp()
    const member = await join()
    bus.fail('history', Infinity)
    receive(bus.appendMany(2)[1])
    await waitFor(() => lines.length > 0)
    await feed.close()
    const { length } = bus.calls
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.equal(bus.calls.length, length)
    receive(bus.append(), ephemeral())
    assert.deepEqual(member.offsets, [])
    assert.deepEqual(lines.filter(({ level }) => level !== 'debug'), [])
  })

  test('delivers nothing from a read that ends after it was closed', async () => {
    const { bus, feed, join, receive } = setUp()
    const member = await join()
    const { waiting, release } = bus.hold('history')
    receive(bus.appendMany(2)[1])
    await waitFor(() => waiting() === 1)
    await feed.close()
    release()
    await turn()
    assert.deepEqual(member.offsets, [])
  })

  test('asks all members to resync, once, when another log began', async () => {
    const { bus, feed, join, receive, repairs } = setUp()
    const members = await Promise.all([join(), join()])
    receive(...bus.appendMany(5))
    bus.lose('two')
    receive(...bus.appendMany(2))
    await waitFor(() => feed.position.epoch === 'two')
    receive(bus.append())
    for (const member of members) {
      assert.deepEqual(member.resyncs, [{ epoch: 'two', offset: 2, reason: 'epoch' }])
      assert.deepEqual(member.offsets, [1, 2, 3, 4, 5, 3])
    }
    assert.deepEqual(await repairs(), { resync: 1 })
  })

  test('asks all members to resync when the hole is older than the log', async () => {
    const { bus, join, receive } = setUp()
    const member = await join()
    const records = bus.appendMany(10)
    bus.trim(5)
    receive(records[9])
    await waitFor(() => member.resyncs.length === 1)
    assert.deepEqual(member.resyncs, [{ epoch: 'one', offset: 10, reason: 'trimmed' }])
    receive(bus.append())
    assert.deepEqual(member.offsets, [11])
  })

  test('ignores late records of a lost log', async () => {
    const { bus, feed, join, receive } = setUp()
    const [old] = bus.appendMany(1)
    bus.lose('two')
    const member = await join()
    receive(old)
    await waitFor(() => bus.calls.includes('history 0'))
    await turn()
    receive(bus.append())
    await waitFor(() => member.offsets.length === 1)
    assert.deepEqual([member.resyncs, feed.position], [[], { epoch: 'two', offset: 1 }])
  })

  test('keeps records that arrive while it opens', async () => {
    const { bus, feed, receive } = setUp()
    receive(...bus.appendMany(2))
    const { waiting, release } = bus.hold('subscribe')
    const opening = feed.open()
    assert.equal(feed.open(), opening, 'all callers wait for the same promise')
    await waitFor(() => waiting() === 1)
    const member = new FakeMember()
    receive(...bus.appendMany(3))
    release()
    await opening
    // the subscription was read at offset 2; later records are applied before a member joins
    assert.equal(feed.position.offset, 5)
    feed.add(member, 5)
    receive(bus.append())
    assert.deepEqual(member.offsets, [6])
    assert.deepEqual(bus.calls, ['subscribe'])
  })

  test('reads records that exceed its queue from the log', async () => {
    const { bus, feed, receive } = setUp()
    const { waiting, release } = bus.hold('subscribe')
    const opening = feed.open()
    await waitFor(() => waiting() === 1)
    receive(...bus.appendMany(1500))
    release()
    await opening
    await waitFor(() => feed.position.offset === 1500)
    assert.ok(bus.calls.includes('history 1000'))
    const held = bus.hold('history')
    const member = new FakeMember()
    feed.add(member, 1500)
    bus.append()
    receive(bus.append())
    await waitFor(() => held.waiting() === 1)
    receive(...bus.appendMany(1200))
    held.release()
    await waitFor(() => member.offsets.length >= 1202)
    assert.deepEqual(member.offsets, range(1202, 1501))
  })

  test('skips members that a record excludes, by connection and by client', async () => {
    const { bus, join, receive } = setUp()
    const [a, b, c] = await Promise.all([
      join(new FakeMember('a', 'one')),
      join(new FakeMember('b', 'two')),
      join(new FakeMember('c'))
    ])
    receive(
      bus.append({ except: ['a'] }),
      bus.append({ except: ['two', 'c'] }),
      bus.append({ except: ['nobody'] }),
      bus.append()
    )
    assert.deepEqual([a.offsets, b.offsets, c.offsets], [[2, 3, 4], [1, 3, 4], [1, 3, 4]])
  })

  test('reports the position to a member that gets no record because it wrote all of them', async () => {
    const { bus, join, receive } = setUp()
    const [author, reader] = await Promise.all([join(new FakeMember('a', 'one')), join(new FakeMember('b'))])
    for (let i = 0; i < 45; i++) receive(bus.append({ except: ['one'] }))
    assert.deepEqual(
      [author.offsets, author.positions, reader.offsets.length, reader.positions],
      [[], [20, 40], 45, []]
    )
  })

  test('does not repeat records that a member has read ahead', async () => {
    const { bus, feed, join, receive } = setUp()
    const behind = await join()
    const records = bus.appendMany(5)
    const ahead = await join(new FakeMember('ahead'), 3)
    receive(records[0], ephemeral(), records[1], records[2], records[3], records[4])
    assert.deepEqual(behind.offsets, [1, 0, 2, 3, 4, 5])
    assert.deepEqual(ahead.offsets, [0, 4, 5])
    // also not after it leaves and returns
    const later = bus.appendMany(2)
    feed.add(ahead, 7)
    feed.remove(ahead)
    feed.add(ahead, 5)
    receive(...later)
    assert.deepEqual(ahead.offsets, [0, 4, 5, 6, 7])
  })

  test('delivers all of another log to a member that has read ahead', async () => {
    const { bus, feed, join, receive } = setUp()
    bus.appendMany(10)
    const ahead = await join(new FakeMember(), 15)
    bus.lose('two')
    receive(bus.append())
    await waitFor(() => feed.position.epoch === 'two')
    receive(...bus.appendMany(3))
    assert.deepEqual(ahead.offsets, [2, 3, 4])
  })

  test('compares itself with the end of its log', async () => {
    const { bus, feed, join } = setUp()
    const member = await join()
    feed.check(null)
    feed.check(bus.end)
    assert.deepEqual(bus.calls, ['subscribe'])
    bus.appendMany(2)
    feed.check(bus.end)
    await has(member, 2)
    bus.lose('two')
    feed.check(bus.end)
    await waitFor(() => member.resyncs.length === 1)
  })

  test('without a record its place is the same in each turn of its epoch, and another one in an epoch with another name', async () => {
    const { bus, feed, join } = setUp()
    bus.lose('abcdefgh-0')
    const member = await join()
    feed.check({ epoch: 'abcdefgh-1', offset: 0 })
    assert.equal(feed.lags({ epoch: 'abcdefgh-1', offset: 1 }), true)
    assert.deepEqual([bus.calls, member.resyncs.length], [['subscribe'], 0])
    bus.lose('other678-0')
    feed.check(bus.end)
    await waitFor(() => member.resyncs.length === 1)
  })

  test('compares itself again after a pending read, which may have been earlier', async () => {
    const { bus, feed, join, receive } = setUp()
    const member = await join()
    const { waiting, release } = bus.hold('history')
    receive(bus.appendMany(2)[1])
    await waitFor(() => waiting() === 1)
    // missed, because live delivery is interrupted
    bus.appendMany(2)
    feed.check({ epoch: 'one', offset: 0 })
    release()
    await has(member, 4)
  })
})

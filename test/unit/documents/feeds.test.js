import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { range } from '../../contract/bus-fixture.js'
import { countedBy } from '../../helpers/counted.js'
import { feedsOnScriptedBus as setUp } from '../../helpers/feeds.js'
import { FakeMember } from '../../helpers/scripted-bus.js'
import { waitFor } from '../../helpers/wait.js'

const START = { epoch: 'one', offset: 0 }
const at = (/** @type {number} */ offset) => ({ epoch: 'one', offset })

describe('joining a document', () => {
  test('subscribes once for all, and unsubscribes with the last', async () => {
    const { bus, feeds, join } = setUp()
    const members = range(3).map((i) => new FakeMember(`m${i}`))
    assert.deepEqual(
      await Promise.all(members.map((member) => join(member))),
      Array(3).fill({ position: START, recovered: false })
    )
    assert.equal(feeds.size, 1)
    for (const member of members.slice(1)) feeds.leave('doc', member)
    feeds.leave('doc', new FakeMember())
    assert.deepEqual(bus.calls, ['subscribe'])
    feeds.leave('doc', members[0])
    assert.equal(feeds.size, 0)
    assert.deepEqual(bus.calls, ['subscribe', 'unsubscribe'])
    assert.equal(feeds.position('doc'), undefined)
    feeds.leave('doc', members[0])
    await join(members[0])
    assert.deepEqual(bus.calls, ['subscribe', 'unsubscribe', 'subscribe'])
  })

  test('answers with a position that stays what it was', async () => {
    const { feeds, join, publish } = setUp()
    const { position } = await join(new FakeMember())
    const seen = feeds.position('doc')
    publish(1)
    assert.deepEqual([position, seen, feeds.position('doc')], [START, START, at(1)])
  })

  test('continues from a member\'s position', async () => {
    const { bus, join, publish, metrics } = setUp()
    await join(new FakeMember())
    publish(450)
    const member = new FakeMember()
    assert.deepEqual(await join(member, at(20)), { position: at(450), recovered: true })
    publish(1)
    assert.deepEqual(member.offsets, range(431, 21))
    assert.deepEqual(bus.calls.slice(1), ['history 20', 'history 220', 'history 420'])
    assert.equal((await metrics.replayed_records.get()).values[0].value, 430)
    assert.deepEqual(await countedBy(metrics.resumes), { recovered: 1 })
  })

  test('recovers a position whose following records were replaced, page by page, without a resync or a pause', async () => {
    const { bus, join, publish, metrics } = setUp()
    await join(new FakeMember())
    publish(900)
    bus.replace([...range(300, 2), ...range(299, 601)])
    for (const offset of [1, 20, 301, 599, 700]) {
      bus.calls.length = 0
      const member = new FakeMember()
      assert.deepEqual(await join(member, at(offset)), { position: at(900), recovered: true })
      assert.deepEqual(member.offsets, [...range(299, 302), 900].filter((own) => own > offset), `since ${offset}`)
      assert.deepEqual(member.resyncs, [])
      assert.ok(bus.calls.length <= 2, bus.calls.join())
    }
    assert.equal((await metrics.replayed_records.get()).values[0].value, 3 * 300 + 2 + 1)
  })

  test('does not read the log when nothing was missed', async () => {
    const { bus, join, publish } = setUp()
    await join(new FakeMember())
    publish(3)
    const member = new FakeMember()
    assert.deepEqual(await join(member, at(3)), { position: at(3), recovered: true })
    assert.deepEqual(bus.calls, ['subscribe'])
    publish(1)
    assert.deepEqual(member.offsets, [4])
  })

  test('requests a resync when the log is another one, no longer reaches back, or is too short', async () => {
    const { bus, join, publish } = setUp()
    await join(new FakeMember())
    publish(10)
    bus.trim(5)
    for (const [since, reason] of /** @type {const} */ ([
      [{ epoch: 'other', offset: 3 }, 'epoch'],
      [at(4), 'trimmed'],
      [at(11), 'epoch'],
      [at(0), 'trimmed']
    ])) {
      const member = new FakeMember()
      assert.deepEqual(await join(member, since), { position: at(10), recovered: false })
      assert.deepEqual(member.resyncs, [{ ...at(10), reason }])
      assert.deepEqual(member.offsets, [])
      publish(0)
    }
    const member = new FakeMember()
    assert.deepEqual(await join(member, at(5)), { position: at(10), recovered: true })
    assert.deepEqual(member.offsets, range(5, 6))
  })

  test('skips records that exclude a member, which do not count as missed', async () => {
    const { bus, join } = setUp()
    bus.append({ except: ['me'] })
    bus.append()
    bus.append({ except: ['my connection'] })
    const member = new FakeMember('my connection', 'me')
    assert.deepEqual(await join(member, START), { position: at(3), recovered: true })
    assert.deepEqual(member.offsets, [2])
  })

  test('fails with `unavailable` when the bus does, and starts again with the next one', async () => {
    const { bus, feeds, join, publish } = setUp()
    bus.fail('subscribe', 1)
    const codes = await Promise.all([0, 1].map(() => join(new FakeMember()).catch(async (error) => {
      await join(new FakeMember())
      return error.code
    })))
    assert.deepEqual(codes, ['unavailable', 'unavailable'])
    assert.equal(feeds.size, 1)
    assert.deepEqual(bus.calls, ['subscribe', 'unsubscribe', 'subscribe'])
    publish(1)
    bus.fail('history', 1)
    const member = new FakeMember()
    await assert.rejects(join(member, START), { code: 'unavailable' })
    assert.equal((await join(member, START)).recovered, true)
    assert.deepEqual(member.offsets, [1])
  })

  test('a second time returns the position from which the member gets records', async () => {
    const { bus, feeds, join, publish } = setUp()
    const member = new FakeMember()
    await join(member)
    publish(3)
    bus.append()
    const reader = new FakeMember('reader')
    await join(reader, at(1))
    const drain = member.fill()
    publish(1)
    /** @param {FakeMember} who @param {import('../../../src/wire/position.js').Position} since */
    const resume = (who, since) => feeds.resume('doc', who, since, () => true)
    // one member is behind, the other one has read further in the log than live delivery
    assert.deepEqual(await resume(member, at(3)), { position: at(3), recovered: true })
    assert.deepEqual(await resume(member, at(2)), { position: at(3), recovered: false })
    assert.deepEqual(member.resyncs, [{ ...at(3), reason: 'opened' }])
    drain()
    assert.deepEqual(bus.calls.filter((call) => call === 'positions'), [])
    await waitFor(() => feeds.position('doc', member)?.offset === 5)
    bus.append()
    assert.deepEqual(await resume(reader, at(6)), { position: at(5), recovered: true })
    assert.deepEqual(await resume(reader, at(7)), { position: at(5), recovered: false })
    assert.deepEqual(reader.resyncs, [{ ...at(5), reason: 'epoch' }])
    bus.fail('positions', 1)
    await assert.rejects(resume(reader, at(7)))
  })

  test('a second time includes records that the member has read ahead of live delivery', async () => {
    const { bus, feeds, join, publish } = setUp()
    await join(new FakeMember())
    publish(1)
    bus.appendMany(2)
    const member = new FakeMember('ahead')
    assert.deepEqual(await join(member, START), { position: at(3), recovered: true })
    assert.deepEqual(feeds.position('doc', member), at(3))
    assert.deepEqual(await feeds.resume('doc', member, at(1), () => true), { position: at(3), recovered: false })
    assert.deepEqual(member.resyncs, [{ ...at(3), reason: 'opened' }])
  })

  test('is given up, and the feed closed, when it is no longer wanted', async () => {
    const { bus, feeds, join } = setUp()
    const { waiting, release } = bus.hold('subscribe')
    let wanted = true
    const member = new FakeMember()
    const joining = join(member, START, () => wanted)
    bus.appendMany(3)
    await waitFor(() => waiting() === 1)
    wanted = false
    feeds.leave('doc', member)
    assert.equal(feeds.size, 1)
    release()
    await joining
    assert.deepEqual([feeds.size, member.offsets, member.resyncs], [0, [], []])
    assert.equal(bus.calls.at(-1), 'unsubscribe')
  })
})

describe('a member that is catching up', () => {
  test('misses no record and gets none twice while more records arrive', async () => {
    const { bus, join, publish } = setUp()
    const live = new FakeMember()
    await join(live)
    publish(300)
    const { waiting, release } = bus.hold('history')
    const late = new FakeMember()
    const joining = join(late, at(10))
    await waitFor(() => waiting() === 1)
    publish(300)
    release()
    await joining
    publish(5)
    assert.deepEqual(live.offsets, range(605, 1))
    assert.deepEqual(late.offsets, range(595, 11))
  })

  test('reads at growing intervals while the log is behind the live stream, and continues when it is not', async () => {
    const { bus, join, publish, time } = setUp()
    await join(new FakeMember())
    publish(10)
    bus.rollBack(5)
    const member = new FakeMember()
    let wanted = true
    let joined = false
    const joining = join(member, at(5), () => wanted).then((answer) => {
      joined = true
      return answer
    })
    try {
      await waitFor(() => time.slept > 20_000, { message: 'time to pass' })
      const reads = bus.calls.filter((call) => call === 'history 5').length
      assert.equal(joined, false)
      // the delay doubles from 100 ms up to 2.5 s or more
      assert.ok(reads <= 8 + time.slept / 2500, `${reads} reads in ${time.slept} ms`)
      bus.appendMany(5)
      assert.deepEqual(await joining, { position: at(10), recovered: true })
      assert.deepEqual(member.offsets, range(5, 6))
    } finally {
      wanted = false
    }
  })

  test('may be ahead of live delivery', async () => {
    const { bus, feeds, join } = setUp()
    await join(new FakeMember())
    const records = bus.appendMany(5)
    feeds.receive(records[0])
    const ahead = new FakeMember()
    assert.deepEqual(await join(ahead, START), { position: at(5), recovered: true })
    for (const record of records.slice(1)) feeds.receive(record)
    feeds.receive(bus.append())
    assert.deepEqual(ahead.offsets, range(6, 1))
  })

  test('misses no record that the feed itself reads from the log at the same time', async () => {
    for (const memberFirst of [true, false]) {
      const { bus, feeds, join, publish } = setUp()
      const live = new FakeMember('live')
      await join(live)
      publish(10)
      const { waiting, release } = bus.hold('history')
      const late = new FakeMember('late')
      const missed = bus.appendMany(250)
      let joining = memberFirst ? join(late, at(5)) : undefined
      if (memberFirst) await waitFor(() => waiting() === 1)
      feeds.receive(/** @type {any} */ (missed.at(-1)))
      await waitFor(() => waiting() === (memberFirst ? 2 : 1))
      joining ??= join(late, at(5))
      await waitFor(() => waiting() === 2)
      // both answers arrive in one turn
      release()
      await joining
      await waitFor(() => live.offsets.length === 260)
      publish(3)
      assert.deepEqual(late.offsets, range(258, 6))
      assert.deepEqual(live.offsets, range(263, 1))
    }
  })

  test('gets a resync when another log begins in the meantime', async () => {
    const { bus, feeds, join, publish } = setUp()
    await join(new FakeMember())
    publish(300)
    const { waiting, release } = bus.hold('history')
    const late = new FakeMember()
    const joining = join(late, at(10))
    await waitFor(() => waiting() === 1)
    bus.lose('two')
    feeds.receive(bus.append())
    await waitFor(() => waiting() === 2)
    release()
    const { recovered, position } = await joining
    await waitFor(() => feeds.position('doc')?.epoch === 'two')
    publish(2)
    assert.equal(recovered, false)
    await waitFor(() => late.offsets.at(-1) === 3)
    assert.deepEqual(late.resyncs.at(-1), { epoch: 'two', offset: 1, reason: 'epoch' })
    assert.deepEqual(late.offsets.slice(-2), [2, 3])
    assert.ok(position.epoch === 'two' || late.resyncs.length === 2, 'it ends up on the new log')
  })

  test('makes a feed detect that its log was lost', async () => {
    const { bus, feeds, join, publish } = setUp()
    const live = new FakeMember()
    await join(live)
    publish(5)
    bus.lose('two')
    bus.appendMany(3)
    const late = new FakeMember()
    await join(late, { epoch: 'two', offset: 1 })
    await waitFor(() => feeds.position('doc')?.epoch === 'two')
    publish(1)
    for (const member of [live, late]) {
      assert.deepEqual(member.resyncs.at(-1), { epoch: 'two', offset: 3, reason: 'epoch' })
      assert.equal(member.offsets.at(-1), 4)
    }
  })

  test('is sent no more than it accepts, and nothing after it has left', async () => {
    const { bus, join, publish } = setUp()
    await join(new FakeMember())
    publish(20)
    const late = new FakeMember()
    let drain = () => {}
    let wanted = true
    late.full = undefined
    const { deliver } = late
    late.deliver = (record) => {
      deliver.call(late, record)
      if (late.offsets.length % 5 === 0)
        late.full = new Promise((resolve) => {
          drain = () => {
            late.full = undefined
            resolve()
          }
        })
    }
    const joining = join(late, START, () => wanted)
    await waitFor(() => late.offsets.length === 5)
    await turn()
    assert.deepEqual(late.offsets, range(5, 1))
    drain()
    await waitFor(() => late.offsets.length === 10)
    wanted = false
    drain()
    await joining
    assert.deepEqual(late.offsets, range(10, 1))
    publish(1)
    assert.deepEqual(late.offsets, range(10, 1))
    assert.ok(bus.calls.includes('history 0'))
  })
})

describe('documents whose live delivery was interrupted', () => {
  test('are compared with their logs until the bus answers', async () => {
    const { bus, feeds, join, metrics, lines } = setUp()
    const member = new FakeMember()
    await join(member)
    bus.appendMany(2)
    bus.fail('positions', 2)
    await feeds.check(['doc', 'nobody has this one'])
    await waitFor(() => member.offsets.length === 2)
    assert.deepEqual(bus.calls, ['subscribe', 'positions', 'positions', 'positions', 'history 0'])
    assert.deepEqual(await countedBy(metrics.bus_errors), { positions: 2 })
    assert.ok(lines.every(({ level }) => level === 'debug'))
  })

  test('are compared although the bus does not respond for others, which are compared once it does', async (t) => {
    const { bus, feeds } = setUp()
    const [one, other] = [new FakeMember(), new FakeMember()]
    await feeds.join('there', one, undefined, () => true)
    await feeds.join('away', other, undefined, () => true)
    bus.appendMany(2)
    let away = true
    bus.positions = async (/** @type {string[]} */ guids) => {
      if (away && guids.every((guid) => guid === 'away')) throw new Error('away')
      return guids.map((guid) => (away && guid === 'away' ? undefined : bus.end))
    }
    t.after(() => feeds.stop())
    const checking = feeds.check(['away', 'there'])
    await waitFor(() => one.offsets.length === 2)
    assert.deepEqual(other.offsets, [])
    away = false
    await checking
    await waitFor(() => other.offsets.length === 2)
  })

  test('are compared again when they are interrupted in the meantime', async () => {
    const { bus, feeds, join } = setUp()
    const member = new FakeMember()
    await join(member)
    const { waiting, release } = bus.hold('positions')
    const checking = feeds.check(['doc'])
    await waitFor(() => waiting() === 1)
    bus.appendMany(2)
    await feeds.check(['doc'])
    release()
    await checking
    await waitFor(() => member.offsets.length === 2)
    assert.equal(bus.calls.filter((call) => call === 'positions').length, 2)
  })

  test('are not requested when there are none, or all were left', async () => {
    const { bus, feeds, join } = setUp()
    await feeds.check([])
    const member = new FakeMember()
    await join(member)
    const { waiting, release } = bus.hold('positions')
    const checking = feeds.check(['doc'])
    await waitFor(() => waiting() === 1)
    feeds.leave('doc', member)
    release()
    await checking
    assert.deepEqual(bus.calls, ['subscribe', 'positions', 'unsubscribe'])
  })

  test('are no longer compared when the gateway stops', async () => {
    const { bus, feeds, join } = setUp()
    await join(new FakeMember())
    bus.fail('positions', Infinity)
    const checking = feeds.check(['doc'])
    await waitFor(() => bus.calls.includes('positions'))
    feeds.stop()
    await assert.rejects(checking)
    const { length } = bus.calls
    await turn()
    assert.equal(bus.calls.length, length)
  })
})

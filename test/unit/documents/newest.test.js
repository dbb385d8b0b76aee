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

describe('a member without a position', () => {
  test('begins with the newest records, after the position before them, and continues live', async () => {
    const { bus, join, publish, metrics } = setUp()
    await join(new FakeMember())
    publish(900)
    bus.replace(range(299, 601))
    bus.calls.length = 0
    const member = new FakeMember()
    assert.deepEqual(await join(member, undefined, undefined, 5), { position: at(900), recovered: false })
    assert.deepEqual([member.offsets, member.positions, member.resyncs], [[597, 598, 599, 600, 900], [596], []])
    publish(1)
    assert.equal(member.offsets.at(-1), 901)
    assert.deepEqual(bus.calls, ['newest 5'])
    assert.deepEqual(await countedBy(metrics.resumes), {})
    // a position takes precedence
    const other = new FakeMember()
    assert.deepEqual(await join(other, at(899), undefined, 5), { position: at(901), recovered: true })
    assert.deepEqual(other.offsets, [900, 901])
  })

  test('begins with nothing where the log has nothing, and gets what is published while the log is read', async () => {
    const { bus, join, publish } = setUp()
    const empty = new FakeMember()
    assert.deepEqual(await join(empty, undefined, undefined, 5), { position: START, recovered: false })
    assert.deepEqual([empty.offsets, empty.positions], [[], []])
    publish(3)
    const { waiting, release } = bus.hold('newest')
    const member = new FakeMember()
    const joining = join(member, undefined, undefined, 2)
    await waitFor(() => waiting() === 1)
    publish(300)
    release()
    assert.deepEqual(await joining, { position: at(303), recovered: false })
    publish(1)
    assert.deepEqual(member.offsets, range(303, 2))
  })

  test('begins with the newest records of the log that a feed turns to, and of none that it has left', async () => {
    const { bus, feeds, join, publish } = setUp()
    const first = new FakeMember()
    await join(first)
    publish(3)
    bus.lose('two')
    bus.appendMany(4)
    const member = new FakeMember()
    assert.deepEqual(await join(member, undefined, undefined, 2), { position: { epoch: 'two', offset: 4 }, recovered: false })
    assert.deepEqual([member.offsets, member.positions, member.resyncs], [[3, 4], [2], []])
    assert.equal(first.resyncs.length, 1)
    assert.deepEqual(feeds.position('doc'), { epoch: 'two', offset: 4 })
  })

  test('sends the newest records to a slow member in small pages, and none to a member that has left', async () => {
    const { bus, join, publish } = setUp()
    await join(new FakeMember())
    publish(100)
    const slow = new FakeMember('slow')
    const drain = slow.fill()
    let wanted = true
    const joining = join(slow, undefined, () => wanted, 50)
    await turn()
    assert.deepEqual(bus.calls, ['subscribe'])
    drain()
    await joining
    assert.deepEqual(slow.offsets, range(50, 51))
    const gone = new FakeMember('gone')
    const { waiting, release } = bus.hold('newest')
    const leaving = join(gone, undefined, () => wanted, 40)
    await waitFor(() => waiting() === 1)
    wanted = false
    release()
    await leaving
    assert.deepEqual([gone.offsets, gone.positions], [[], []])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { range } from '../../contract/bus-fixture.js'
import { feedsOnScriptedBus as setUp } from '../../helpers/feeds.js'
import { FakeMember } from '../../helpers/scripted-bus.js'
import { waitFor } from '../../helpers/wait.js'

describe('idle documents', () => {
  const losses = async (/** @type {ReturnType<typeof setUp>['metrics']} */ metrics) =>
    (await metrics.silent_losses.get()).values[0].value

  test('get a lost last record, although none follows it', async (t) => {
    const { bus, feeds, join, publish, metrics } = setUp()
    const member = new FakeMember()
    await join(member)
    publish(3)
    feeds.start()
    t.after(() => feeds.stop())
    bus.append()
    await waitFor(() => member.offsets.length === 4)
    assert.deepEqual(member.offsets, range(4, 1))
    assert.equal(await losses(metrics), 1)
    assert.equal(bus.calls.filter((call) => call.startsWith('history')).length, 1)
    bus.lose('two')
    await waitFor(() => member.resyncs.length === 1)
    assert.equal(await losses(metrics), 2)
  })

  test('resync when the backend has lost their log, unless it never had a record', async (t) => {
    const { bus, feeds, join, publish, metrics } = setUp()
    const [member, other] = [new FakeMember(), new FakeMember()]
    await join(member)
    publish(3)
    bus.lose('two')
    await feeds.join('empty', other, undefined, () => true)
    bus.positions = async (guids) => {
      bus.calls.push('positions')
      return /** @type {any[]} */ (guids.map(() => null))
    }
    feeds.start()
    t.after(() => feeds.stop())
    await waitFor(() => member.resyncs.length === 1)
    await waitFor(() => bus.calls.filter((call) => call === 'positions').length > 8)
    assert.deepEqual([member.resyncs.length, other.resyncs.length, await losses(metrics)], [1, 0, 1])
  })

  test('are not repaired when their first record comes while the end is read', async (t) => {
    const { bus, feeds, join, metrics } = setUp()
    const member = new FakeMember()
    await join(member)
    let first = true
    bus.positions = async (guids) => {
      bus.calls.push('positions')
      if (!first) return guids.map(() => bus.end)
      first = false
      feeds.receive(bus.append())
      return /** @type {any[]} */ (guids.map(() => null))
    }
    feeds.start()
    t.after(() => feeds.stop())
    await waitFor(() => bus.calls.filter((call) => call === 'positions').length > 4)
    assert.deepEqual([member.offsets, await losses(metrics)], [[1], 0])
  })

  test('are not repaired for a record in flight', async (t) => {
    const { bus, feeds, join, metrics } = setUp()
    const member = new FakeMember()
    await join(member)
    const { positions } = bus
    bus.positions = async (guids) => {
      bus.positions = positions
      const late = bus.append()
      setImmediate(() => feeds.receive(late))
      return positions.call(bus, guids)
    }
    feeds.start()
    t.after(() => feeds.stop())
    await waitFor(() => bus.calls.filter((call) => call === 'positions').length > 4)
    assert.deepEqual([member.offsets, await losses(metrics)], [[1], 0])
    assert.ok(!bus.calls.some((call) => call.startsWith('history')))
  })

  test('are checked a few at a time, each once per cycle, except those with new records', async (t) => {
    const { bus, feeds } = setUp()
    for (let i = 0; i < 400; i++) await feeds.join(`d${i}`, new FakeMember(), undefined, () => true)
    bus.append()
    /** @type {string[][]} */
    const asked = []
    bus.positions = async (/** @type {string[]} */ guids) => {
      asked.push(guids)
      feeds.receive({
        ...bus.records[0],
        publication: { ...bus.records[0].publication, guid: 'd7', ephemeral: true },
        offset: 0
      })
      return /** @type {any[]} */ (guids.map(() => null))
    }
    feeds.start()
    t.after(() => feeds.stop())
    await waitFor(() => asked.length >= 32)
    const cycle = asked.slice(16, 32).flat()
    assert.ok(asked.every(({ length }) => length <= 25), String(asked.map(({ length }) => length)))
    assert.deepEqual([cycle.length, new Set(cycle).size, cycle.includes('d7')], [399, 399, false])
  })

  test('cost one request per cycle when there is only one', async (t) => {
    const { bus, feeds, time, join } = setUp()
    await join(new FakeMember())
    /** @type {number[]} */
    const askedAt = []
    bus.positions = async () => {
      askedAt.push(time.slept)
      return [bus.end]
    }
    feeds.start()
    t.after(() => feeds.stop())
    await waitFor(() => askedAt.length >= 3, { message: () => askedAt })
    assert.deepEqual(askedAt.slice(0, 3).map((at) => at - askedAt[0]), [0, 4000, 8000])
  })

  test('are found although the part of Redis with others is unavailable, also if a request is for that part only', async (t) => {
    const { bus, feeds } = setUp()
    /** @type {Map<string, FakeMember>} */
    const members = new Map(Array.from({ length: 40 }, (_, i) => [`d${i}`, new FakeMember()]))
    for (const [guid, member] of members) await feeds.join(guid, member, undefined, () => true)
    // the documents that are checked first, each in a request of its own
    const isAway = (/** @type {string} */ guid) => Number(guid.slice(1)) < 20
    let away = true
    bus.positions = async (/** @type {string[]} */ guids) => {
      if (away && guids.every(isAway)) throw new Error('away')
      return guids.map((guid) => (away && isAway(guid) ? undefined : bus.end))
    }
    bus.append()
    feeds.start()
    t.after(() => feeds.stop())
    const got = () => [...members].filter(([, { offsets }]) => offsets.length === 1).map(([guid]) => guid)
    await waitFor(() => got().length === 20, { message: got })
    assert.ok(!got().some(isAway))
    away = false
    await waitFor(() => got().length === 40, { message: got })
  })

  test('are checked again after Redis was unavailable, and no longer once the gateway stops', async () => {
    const { bus, feeds, join, lines } = setUp()
    const member = new FakeMember()
    await join(member)
    bus.fail('positions', 3)
    bus.append()
    feeds.start()
    await waitFor(() => member.offsets.length === 1)
    feeds.stop()
    await turn()
    await turn()
    const { length } = bus.calls
    for (let i = 0; i < 20; i++) await turn()
    assert.equal(bus.calls.length, length)
    assert.ok(lines.every(({ level }) => level === 'debug'))
  })
})
